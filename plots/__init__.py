"""Tables and figures as a pure function of the Parquet in `results/`; torch is never imported here.

`python -m plots all` makes all of them; a module with a KIND is one table or figure, found by its presence.
"""

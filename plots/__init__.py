"""Tables and figures as a pure function of the Parquet in `results/`; torch is never imported here.

`python -m plots all` makes all of them; a function marked `@made_from` is one, found by being there.
"""

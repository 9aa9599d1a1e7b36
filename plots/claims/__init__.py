"""The paper's claims as rules over stored results, fixed before looking, and the page CLAIMS.md that they generate.

`python -m plots claims` writes it. `rules.py` says what each claim asks of the results, `page.py` puts the findings of
every regime side by side.
"""

"""Measurements of speed and memory, one module per area; `python -m benchmark.bench` runs them.

Every module has `run() -> list[dict]`: rows of area, name, n, seconds, peak_mb, ratio and the baseline that the ratio is to,
which is measured in the same run, since only such ratios mean something on another machine.
"""

"""The report page: every verdict, warning, table, figure, run and method in one self-contained HTML file.

`python -m benchmark report` writes `results/report/index.html` from the Parquet; nothing here imports torch.
`builder.py` puts the parts together: what was made of the results (`collection.py`), the runs behind the cells
(`runs.py`), and the methods (`methods.py`), laid out by the templates.
"""

from plots.report.builder import build, write

__all__ = ["build", "write"]

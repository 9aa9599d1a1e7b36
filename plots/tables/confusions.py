"""Which classes each method takes for each other most, and how often the other methods do so.

`python -m plots tables --only confusions` makes one table per data set from the neighbours that runs keep.
"""

from benchmark.errors import UserError
from plots import style
from plots.catalogue import made_from
from plots.data import Results
from plots.retrieved import Retrieved, confused_pairs, retrieved
from plots.tables import _caption as caption
from plots.tables._table import Cell, Column, Row, Section, Table

MOST = 3  # pairs of a method
COLUMNS = (
    Column("query", "queries of", text=True),
    Column("taken", "taken for", text=True),
    Column("share", "share", shaded=True),
    Column("others", "other methods"),
    Column("asked", "queries × seeds", text=True),
)
CAPTION = (
    "Share: of the queries of a class, those whose nearest image is of the other class, in percent, over all seeds. Other "
    "methods: the mean of their shares. Queries are a fixed sample of test images, the same for every method and seed; those "
    "of a class are few, as the last column says, so that a share speaks of these images more than of the class. First come "
    "the pairs with most queries confused."
)


@made_from("", "main")
def confusions(results: Results) -> list[Table]:
    by_dataset: dict[str, list[Retrieved]] = {}
    for kept in retrieved(results):
        by_dataset.setdefault(kept.dataset, []).append(kept)
    if not by_dataset:
        raise UserError(
            f"no run at scale {results.scale!r} keeps what it retrieved (python -m benchmark run main --scale {results.scale})"
        )
    return [_table(dataset, found, results.scale) for dataset, found in by_dataset.items()]


def _table(dataset: str, found: list[Retrieved], scale: str) -> Table:
    sections = tuple(Section(f"protocol {kept.protocol}", tuple(_rows(kept))) for kept in found)
    words = f"The pairs of classes that each method confuses most: study {found[0].study}, data set {dataset}."
    queries = f"{len(found[0].queries)} queries."
    return Table("confusions", dataset, COLUMNS, sections, (words, CAPTION, queries, caption.scale(scale)))


def _rows(kept: Retrieved) -> list[Row]:
    pairs, rows = confused_pairs(kept), []
    for method in kept.methods:
        mine = pairs[(pairs["method"] == method) & (pairs["share"] > 0)]
        by = ["confused", "share", "others", "query", "taken"]
        order = mine.sort_values(by, ascending=[False, False, True, True, True], kind="stable")
        keys = {"dataset": kept.dataset, "protocol": kept.protocol, "scale": kept.scale, "method": method}
        for pair in order.head(MOST).to_dict("records"):
            cells = {
                "query": Cell(text=kept.album.name(0, pair["query"])),
                "taken": Cell(text=kept.album.name(0, pair["taken"])),
                "share": Cell(100 * pair["share"], run_ids=kept.run_ids[method]),
                "others": Cell(100 * pair["others"]),
                "asked": Cell(text=f"{pair['images']} × {len(kept.found[method])}"),
            }
            rows.append(Row(style.title(method), cells, keys))
    return rows

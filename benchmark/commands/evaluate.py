"""`python -m benchmark evaluate FILE`: the metrics of embeddings that were made elsewhere.

Reads an .npz file (embeddings, labels and, for separate sets, gallery_embeddings, gallery_labels) or a Parquet file (a
list column `embedding`, label columns with the finest first and, for separate sets, a column `set` with query or gallery).
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmark.errors import UserError, unknown


class Stored(NamedTuple):
    """What a file holds."""

    query: np.ndarray
    query_labels: np.ndarray
    gallery: np.ndarray | None = None
    gallery_labels: np.ndarray | None = None
    levels: tuple[str, ...] | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help=".npz or .parquet with embeddings and labels")
    parser.add_argument("--ks", type=_integers, default=(1, 2, 4, 8), help="Recall@k for these (default 1,2,4,8)")
    parser.add_argument("--rerank", type=_integers, default=(), help="also after contextual re-ranking at these k")
    parser.add_argument("--beta", type=float, default=0.1, help="weight of the contextual similarity (default 0.1)")
    parser.add_argument("--labels", default="", help="label columns of a Parquet file, finest first (default: all)")
    parser.add_argument("--health", action="store_true", help="also mean cosine, effective rank and hubness")
    parser.add_argument("--json", action="store_true", help="print JSON with fractions instead of a table")


def execute(args: argparse.Namespace) -> int:
    stored = read(args.file, tuple(name for name in args.labels.split(",") if name))
    from benchmark.evaluation import health, retrieval_metrics  # imports torch

    metrics = retrieval_metrics(*stored[:4], args.ks, levels=stored.levels, rerank=args.rerank, beta=args.beta)
    if not any(value for name, value in metrics.items() if name.split("/")[0] == "queries"):
        raise UserError(f"none of the {len(stored.query)} queries of {args.file} has a positive in the gallery")
    if args.health:
        metrics |= {f"health/{k}": v for k, v in health(stored.query, stored.query_labels).items()}
    print(json.dumps(metrics, indent=2) if args.json else table(metrics))
    return 0


def table(metrics: dict[str, float]) -> str:
    """One metric a line: fractions in percent, counts and health as they are."""
    width = max(map(len, metrics))

    def shown(name: str, value: float) -> str:
        if isinstance(value, int):
            return f"{value:>9,d}"
        return f"{value:>9.3f}" if name.startswith("health/") else f"{100 * value:>9.2f} %"

    return "\n".join(f"{name:<{width}}  {shown(name, value)}" for name, value in metrics.items())


def read(path: Path, labels: tuple[str, ...] = ()) -> Stored:
    """Embeddings and labels of a file, by its ending."""
    readers = {".npz": _read_npz, ".parquet": _read_parquet}
    if path.suffix not in readers:
        raise unknown("embedding file", path.name, readers, "give an .npz or a .parquet file")
    if not path.is_file():
        raise UserError(f"no file {str(path)!r}: give the path of an .npz or .parquet file")
    return readers[path.suffix](path, labels)


def _read_npz(path: Path, labels: tuple[str, ...]) -> Stored:
    if labels:
        raise UserError(
            f"--labels names Parquet columns; {path.name} holds its labels as one array of shape (n, levels)"
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # zip files fail in many ways
        raise UserError(f"{path.name} cannot be read as .npz: {error}") from None
    for name in {"embeddings", "labels"} - arrays.keys():
        found = ", ".join(arrays) or "nothing"
        raise UserError(f"{path.name} has no array {name!r} (it holds {found}); expected embeddings and labels")
    levels = tuple(map(str, arrays["levels"])) if "levels" in arrays else None
    gallery, gallery_labels = arrays.get("gallery_embeddings"), arrays.get("gallery_labels")
    if (gallery is None) != (gallery_labels is None):
        raise UserError(f"{path.name} needs both gallery_embeddings and gallery_labels, or neither")
    return Stored(arrays["embeddings"], arrays["labels"], gallery, gallery_labels, levels)


def _read_parquet(path: Path, labels: tuple[str, ...]) -> Stored:
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path)
    except Exception as error:  # and so does pyarrow
        raise UserError(f"{path.name} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    if "embedding" not in rows.column_names:
        raise UserError(f"{path.name} has no list column 'embedding' (it holds {', '.join(rows.column_names)})")
    names = labels or tuple(name for name in rows.column_names if name not in ("embedding", "set"))
    for name in names:
        if name not in rows.column_names:
            raise unknown("label column", name, rows.column_names)
    if not names:
        raise UserError(f"{path.name} has no label column beside 'embedding'")
    x = _matrix(rows.column("embedding"), path)
    y = np.stack([_codes(rows.column(name), name) for name in names], axis=1)
    levels = names if len(names) > 1 else None
    y = y if levels else y[:, 0]
    if "set" not in rows.column_names:
        return Stored(x, y, levels=levels)
    sets = np.array(rows.column("set").to_pylist(), dtype=object)
    for value in set(sets.tolist()) - {"query", "gallery"}:
        raise unknown("value of column 'set'", value, ("query", "gallery"))
    query, gallery = sets == "query", sets == "gallery"
    return Stored(x[query], y[query], x[gallery], y[gallery], levels)


def _matrix(column, path: Path) -> np.ndarray:
    """A list column as (n, d)."""
    import pyarrow.compute as pc
    import pyarrow.types as kinds

    if not any(fits(column.type) for fits in (kinds.is_list, kinds.is_large_list, kinds.is_fixed_size_list)):
        raise UserError(f"column 'embedding' of {path.name} has type {column.type}; expected lists of numbers")
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) > 1 or lengths == [None]:
        raise UserError(f"the embeddings of {path.name} have different lengths: {sorted(map(str, lengths))[:5]}")
    values = pc.list_flatten(column)
    if values.null_count:
        raise UserError(f"{values.null_count} numbers in column 'embedding' of {path.name} are missing")
    return values.to_numpy().reshape(len(column), -1 if len(column) else 0)


def _codes(column, name: str) -> np.ndarray:
    """Labels as integers, numbered in the order in which they appear."""
    import pandas as pd
    import pyarrow.types as kinds

    if column.null_count:
        raise UserError(f"{column.null_count} values of label column {name!r} are missing")
    if not any(
        fits(column.type) for fits in (kinds.is_integer, kinds.is_string, kinds.is_large_string, kinds.is_dictionary)
    ):
        raise UserError(f"label column {name!r} has type {column.type}; expected integers or text")
    return pd.factorize(column.to_pandas())[0].astype(np.int64)


def _integers(text: str) -> tuple[int, ...]:
    try:
        values = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        values = ()
    if not values or min(values) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected integers from 1 on with commas between, such as 1,10,100")
    return values

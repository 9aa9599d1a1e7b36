"""A page on each method: what its file says (definition, constants with their comments, source), and the runs
of its tuning as pictures.
"""

import ast
import io
import json
import tokenize
from typing import Any

import baselines
from benchmark.errors import UserError
from benchmark.results.schema import LEDGER_COLUMNS
from benchmark.results.tuning_summary import rate_curves
from plots import style
from plots.data import Results, variant_text
from plots.report.runs import Groups, rounded


def pages(seen: set[str]) -> list[dict[str, Any]]:
    """Every method that has a file or a run, in the order of tables."""
    return [page(name) for name in style.ordered({*baselines.names(), *seen})]


def page(name: str) -> dict[str, Any]:
    told = {"name": name, "title": style.title(name), "colour": style.look(name).colour, "broken": ""}
    try:
        card = baselines.card(name)
    except UserError as problem:  # runs of a method whose file is gone, or a file that is not finished
        return told | {"broken": str(problem)}
    text, shared = ((baselines.FOLDER / f"{file}.py").read_text(encoding="utf-8") for file in (name, "__init__"))
    comments = _comments(shared) | _comments(text)
    return told | {
        "definition": ast.get_docstring(ast.parse(text)) or "",
        "source": card.source,
        "sampler": card.sampler,
        "trains": card.trains,
        "params": [(key, _shown(value), comments.get(key, "")) for key, value in card.params.items()],
        "search": [(key, ", ".join(map(_shown, values))) for key, values in card.search.items()],
        "code": text,
    }


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _comments(text: str) -> dict[str, str]:
    """The comment behind each entry of PARAMS (and REGULARISER): meaning and source of the constant."""
    lines: dict[int, str] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
            if getattr(target, "id", "") in ("PARAMS", "REGULARISER"):
                keys = getattr(statement.value, "keys", [])
                lines |= {key.lineno: str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return {
        lines[token.start[0]]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT and token.start[0] in lines
    }


def tuning(results: Results, groups: Groups) -> list[dict[str, Any]]:
    """One picture per method, study, data set, protocol and variation that was tuned."""
    pictures = []
    for study in results.studies():
        frame = results.frame(study)
        trials = rate_curves(frame[list(LEDGER_COLUMNS)], results.runs)
        if trials.empty:
            continue
        by = ["dataset", "protocol", "method", "variation"]
        runs = dict(iter(frame[frame["phase"] == "tune"].groupby(by)["run_id"]))
        for key, rows in trials.groupby(by, sort=True):
            dataset, protocol, method, variation = map(str, key)
            points = [
                [row["lr"], rounded(row["score"]), int(row["chosen"]), row["tuned"], row["status"]]
                for row in rows.to_dict("records")
            ]
            pictures.append(
                {
                    "study": study, "scale": results.scale, "dataset": dataset, "protocol": protocol, "method": method,
                    "variant": variant_text(json.loads(variation)), "group": groups.number(runs[key]), "points": points,
                }
            )  # fmt: skip
    return pictures

"""A `Table` as Markdown, LaTeX, CSV and terminal text: four views of the same cells, with deterministic bytes.

`python -m plots tables` writes them; a file holds all tables of its name (one per data set), one after another. CSV has full
precision, for further work; LaTeX is for a paper: booktabs, R@1 columns shaded, everything escaped, fitted to the line.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from plots.tables._table import Cell, Column, Row, Table, judgement, number, shown, signed

LEGEND = (
    "± half-width of the 95 % t-interval over seeds · * best mean · ≈ not separable from it · "
    "paper: published (ours − paper: = reproduced, ↑ above, ↓ below, ? undecided, with the seeds that would decide)"
)
FIRST = ("table", "part", "section", "dataset", "protocol", "scale", "method", "variant", "row")  # columns of a CSV
PREAMBLE = "\\usepackage{array,booktabs,graphicx} \\usepackage[table]{xcolor}"
WIDE = 6  # columns that fit a narrow column of a page
LATEX = {
    "\\": "\\textbackslash{}", "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{",
    "}": "\\}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    '"': "''", "‘": "`", "’": "'", "“": "``", "”": "''", "–": "--", "—": "---", "…": "\\dots{}",
    "±": "$\\pm$", "−": "$-$", "≈": "$\\approx$", "×": "$\\times$", "·": "$\\cdot$", "≥": "$\\geq$",
    "≤": "$\\leq$", "↑": "$\\uparrow$", "↓": "$\\downarrow$", "→": "$\\rightarrow$", "α": "$\\alpha$",
    "β": "$\\beta$", "γ": "$\\gamma$", "δ": "$\\delta$", "ε": "$\\varepsilon$", "λ": "$\\lambda$",
    "σ": "$\\sigma$", "τ": "$\\tau$", "θ": "$\\theta$", "s̃": "$\\tilde{s}$", "₊": "$_{+}$",
    "₋": "$_{-}$", "₁": "$_{1}$", "₂": "$_{2}$", "²": "$^{2}$",
}  # fmt: skip


def _sections(
    table: Table, title: Callable[[str], str], text: Callable[[Cell, Column], str], mark: Callable[[str], str]
) -> list[tuple[str, list[list[str]]]]:
    """Of each section its heading, if there are several, and its rows as texts with the marks of their footnotes."""
    notes = table.footnotes()

    def marks(texts: Sequence[str]) -> str:
        return mark(",".join(notes[text] for text in texts)) if texts else ""

    def line(row: Row) -> list[str]:
        cells = [(table.cell(row, column), column) for column in table.columns]
        texts = [text(cell, column) + marks(cell.notes) for cell, column in cells]
        return [title(row.title) + marks(row.notes), *texts]

    several = len(table.sections) > 1
    return [(section.title if several else "", [line(row) for row in section.rows]) for section in table.sections]


def markdown(tables: Iterable[Table]) -> str:
    return "\n".join(_markdown(table) for table in tables)


def _markdown(table: Table) -> str:
    def text(cell: Cell, column: Column) -> str:
        told = _escape_markdown(shown(cell, column))
        return f"**{told}**" if cell.best else told

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [f"### {table.name}: {table.part}" if table.part else f"### {table.name}", ""]
    lead, rest = (
        _escape_markdown(" ".join(part)) for part in (table.caption[: table.lead], table.caption[table.lead :])
    )
    lines += [lead, "", line(map(_escape_markdown, table.titles()))]
    lines += [line([":--", *(":--" if column.text else "--:" for column in table.columns)])]
    for heading, rows in _sections(table, _escape_markdown, text, "<sup>{}</sup>".format):
        lines += [f"| *{_escape_markdown(heading)}* |" + " |" * len(table.columns)] if heading else []
        lines += map(line, rows)
    lines += ["", *(f"<sup>{mark}</sup> {_escape_markdown(note)}  " for note, mark in table.footnotes().items())]
    lines += ["", rest] if table.footnotes() else [rest]
    return "\n".join(lines).rstrip() + "\n"


def _escape_markdown(text: str) -> str:
    for character in "\\|*_`<":
        text = text.replace(character, "\\" + character)
    return text.replace("\n", " ")


def terminal(tables: Iterable[Table]) -> str:
    """Without captions: those are in the files."""
    return "\n".join(_terminal(table) for table in tables)


def _terminal(table: Table) -> str:
    def text(cell: Cell, column: Column) -> str:
        return ("*" if cell.best else "") + shown(cell, column)

    sections = _sections(table, str, text, " [{}]".format)
    grid = [table.titles(), *(row for _, rows in sections for row in rows)]
    widths = [max(map(_width, cells)) for cells in zip(*grid, strict=True)]

    def line(cells: Sequence[str]) -> str:
        gaps = [" " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True)]
        left = [True, *(column.text for column in table.columns)]
        padded = [cell + gap if first else gap + cell for cell, gap, first in zip(cells, gaps, left, strict=True)]
        return "  ".join(padded).rstrip()

    lines = [f"{table.name}: {table.part}".rstrip(": "), line(grid[0]), "─" * (sum(widths) + 2 * len(widths) - 2)]
    for heading, rows in sections:
        lines += [f"· {heading}"] if heading else []
        lines += map(line, rows)
    lines += [f"[{mark}] {note}" for note, mark in table.footnotes().items()]
    return "\n".join(lines) + "\n"


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def as_csv(tables: Iterable[Table]) -> str:
    """Wide, one line a row of the table, numbers in full precision; columns are those of all the tables."""
    records: list[dict[str, object]] = []
    for table in tables:
        for section in table.sections:
            for row in section.rows:
                told = {"table": table.name, "part": table.part, "section": section.title, **row.keys, "row": row.title}
                record: dict[str, object] = {name: told.get(name, "") for name in FIRST}
                notes = list(row.notes)
                for column in table.columns:
                    cell = table.cell(row, column)
                    record |= _csv_cell(cell, column)
                    notes += cell.notes
                records.append(record | {"notes": "; ".join(dict.fromkeys(notes))})
    names = dict.fromkeys([*FIRST, *(name for record in records for name in record if name != "notes")])
    out = io.StringIO()
    writer = csv.DictWriter(out, [*names, "notes"], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def _csv_cell(cell: Cell, column: Column) -> dict[str, object]:
    if column.text or cell.text:
        return {column.key: cell.text}
    named = {
        "": cell.value, " ±": cell.half, " n": cell.n or None, " spread": cell.spread, " change": cell.change,
        " difference": cell.difference, " verdict": cell.verdict or None, " seeds": cell.seeds,
    }  # fmt: skip
    return {column.key + name: value for name, value in named.items() if value is not None}


def latex(tables: Iterable[Table]) -> str:
    head = f"% Made by `python -m plots tables`. In the preamble: {PREAMBLE}\n"
    return head + "\n".join(_latex(table) for table in tables)


def escape_latex(text: str) -> str:
    """Text that compiles under any engine; what plain LaTeX lacks becomes its base letter or its code."""
    return re.sub(r"s\u0303|.", lambda found: _escape_letter(found[0]), text.replace("\n", " "), flags=re.DOTALL)


def _escape_letter(letter: str) -> str:
    if letter in LATEX or " " <= letter <= "~":
        return LATEX.get(letter, letter)
    base = "".join(c for c in unicodedata.normalize("NFKD", letter) if " " <= c <= "~")
    return "".join(LATEX.get(c, c) for c in base) or f"[U+{ord(letter):04X}]"


def _latex(table: Table) -> str:
    star = "*" if len(table.columns) > WIDE else ""  # across both columns of a two-column page
    label = re.sub("[^A-Za-z0-9]+", "-", f"{table.name} {table.part}").strip("-")
    shade = ">{\\columncolor[gray]{0.9}}"
    align = "l" + "".join((shade if c.shaded else "") + ("l" if c.text else "c") for c in table.columns)
    lines = [f"\\begin{{table{star}}}", "\\centering", f"\\caption{{{escape_latex(' '.join(table.caption))}}}"]
    lines += [f"\\label{{tab:{label}}}", "\\vspace{4pt}\\small"]
    # Wide tables shrink to the line, narrow ones keep their size.
    lines += ["\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"]
    lines += [f"\\begin{{tabular}}{{{align}}}", "\\toprule", *_latex_groups(table)]
    titles = [table.stub, *(c.title for c in table.columns)]
    lines += [" & ".join(map(escape_latex, titles)) + " \\\\", "\\midrule"]
    for place, (heading, rows) in enumerate(_sections(table, escape_latex, _latex_cell, _latex_mark)):
        if heading:
            lines += ["\\midrule"] if place else []
            lines += [f"\\multicolumn{{{len(titles)}}}{{l}}{{\\emph{{{escape_latex(heading)}}}}} \\\\"]
        lines += [" & ".join(row) + " \\\\" for row in rows]
    lines += ["\\bottomrule", "\\end{tabular}}"]
    for note, mark in table.footnotes().items():
        lines.append(f"\\par\\smallskip\\footnotesize {_latex_mark(mark)} {escape_latex(note)}")
    return "\n".join([*lines, f"\\end{{table{star}}}"]) + "\n"


def _latex_mark(mark: str) -> str:
    return f"$^{{\\mathrm{{{mark}}}}}$"


def _latex_groups(table: Table) -> list[str]:
    """The line of titles over several columns, if the table has such."""
    if not any(column.group for column in table.columns):
        return []
    spans: list[list] = []  # group, first column, last column; the stub is column 1
    for place, column in enumerate(table.columns, start=2):
        if spans and column.group and spans[-1][0] == column.group:
            spans[-1][2] = place
        else:
            spans.append([column.group, place, place])
    heads = [f"\\multicolumn{{{b - a + 1}}}{{c}}{{{escape_latex(group)}}}" for group, a, b in spans]
    rules = [f"\\cmidrule(lr){{{a}-{b}}}" for group, a, b in spans if group]
    return [" & " + " & ".join(heads) + " \\\\", " ".join(rules)]


def _latex_cell(cell: Cell, column: Column) -> str:
    if cell.text or cell.value is None:
        return escape_latex(shown(cell, column))
    text = escape_latex(number(cell.value, column.digits))
    text = f"\\textbf{{{text}}}" if cell.best else text
    if cell.half is not None:
        text += f" {{\\scriptsize $\\pm$ {escape_latex(number(cell.half, column.digits))}}}"
    if cell.change is not None:
        colour = "blue" if cell.change >= 0 else "red"
        text += f" {{\\tiny \\color{{{colour}}}{escape_latex(signed(cell.change, column.digits))}}}"
    if cell.difference is not None:
        text += f" {{\\scriptsize ({escape_latex(judgement(cell, column))})}}"
    return text + ("$^{\\approx}$" if cell.tied else "")

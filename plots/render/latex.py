"""Tables as LaTeX with booktabs, for a paper: R@1 columns shaded, everything escaped, fitted to the line."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from plots.tables._table import Cell, Column, Row, Table, judgement, number, shown, signed

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


def latex(tables: Iterable[Table]) -> str:
    head = f"% Made by `python -m plots tables`. In the preamble: {PREAMBLE}\n"
    return head + "\n".join(_latex(table) for table in tables)


def escape_latex(text: str) -> str:
    """Text that compiles under any engine; what plain LaTeX lacks becomes its base letter or its code."""
    done = ""
    text = text.replace("\n", " ")
    while text:
        step = 2 if text[:2] in LATEX else 1
        part, text = text[:step], text[step:]
        if part in LATEX:
            done += LATEX[part]
        elif " " <= part <= "~":
            done += part
        else:
            base = "".join(c for c in unicodedata.normalize("NFKD", part) if " " <= c <= "~")
            done += "".join(LATEX.get(c, c) for c in base) or f"[U+{ord(part):04X}]"
    return done


def _latex(table: Table) -> str:
    notes = table.footnotes()

    def marks(texts: Sequence[str]) -> str:
        return f"$^{{\\mathrm{{{','.join(notes[text] for text in texts)}}}}}$" if texts else ""

    def text(row: Row, column: Column) -> str:
        cell = table.cell(row, column)
        return _latex_cell(cell, column) + marks(cell.notes)

    rows = iter(
        [escape_latex(row.title) + marks(row.notes), *(text(row, column) for column in table.columns)]
        for row in table.rows()
    )
    shade = ">{\\columncolor[gray]{0.9}}"
    align = "l" + "".join((shade if c.shaded else "") + ("l" if c.text else "c") for c in table.columns)
    star = "*" if len(table.columns) > WIDE else ""  # across both columns of a two-column page
    lines = [f"\\begin{{table{star}}}", "\\centering"]
    lines += [f"\\caption{{{escape_latex(' '.join(table.caption))}}}"]
    lines += [
        f"\\label{{tab:{re.sub('[^A-Za-z0-9]+', '-', f'{table.name} {table.part}').strip('-')}}}",
        "\\vspace{4pt}\\small",
    ]
    # Wide tables shrink to the line, narrow ones keep their size.
    lines += ["\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"]
    lines += [f"\\begin{{tabular}}{{{align}}}", "\\toprule", *_latex_groups(table)]
    titles = [table.stub, *(c.title for c in table.columns)]
    lines += [" & ".join(map(escape_latex, titles)) + " \\\\", "\\midrule"]
    for number_, section in enumerate(table.sections):
        if section.title and len(table.sections) > 1:
            lines += ["\\midrule"] if number_ else []
            span = len(table.columns) + 1
            lines.append(f"\\multicolumn{{{span}}}{{l}}{{\\emph{{{escape_latex(section.title)}}}}} \\\\")
        lines += [" & ".join(next(rows)) + " \\\\" for _ in section.rows]
    lines += ["\\bottomrule", "\\end{tabular}}"]
    for text_, mark in notes.items():
        lines.append(f"\\par\\smallskip\\footnotesize $^{{\\mathrm{{{mark}}}}}$ {escape_latex(text_)}")
    return "\n".join([*lines, f"\\end{{table{star}}}"]) + "\n"


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

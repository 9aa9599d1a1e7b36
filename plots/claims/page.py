"""The page CLAIMS.md: a row per claim, a column per regime, the word of the rule and the numbers behind it in each cell."""

from pathlib import Path

from benchmark.errors import UserError
from benchmark.files import replacing
from plots.claims.evidence import NOT_RUN, Evidence, Finding, Regime, side
from plots.claims.rules import CLAIMS, Claim
from plots.data import Results
from plots.tables._table import signed

REGIMES = (
    Regime("letters, from scratch", "laptop", "glyphs"),
    Regime("CUB, frozen features", "photos", "cub", "frozen"),
    Regime("Cars, frozen features", "photos", "cars", "frozen"),
    Regime("In-Shop, frozen features", "photos", "inshop", "frozen"),
    Regime("CUB, last stage", "photos", "cub", "stage"),
    Regime("CUB, end to end", "paper", "cub", "end_to_end", papers=True),
)
SHOWN = 3  # contrasts of a kind that a cell names
ABOVE = {"no": "below zero", "open": "open", "yes": "above zero"}  # in the order of a cell
WITHIN = {"no": "outside", "open": "open", "yes": "within"}
HEAD = """# What stored runs say about the paper's claims

Made by `python -m plots claims` from the runs in `results/reference/` and whatever was run here; no number on this page
is typed. Each claim is a rule over stored results (`plots/claims/rules.py`), the same in every regime and written before
any run on photos was looked at. A contrast is a difference in points that the claim says is above zero: mean ± half-width
of its t-interval over seeds, and within a claim all intervals hold together at 95 % (Bonferroni). *Supported*: every
interval lies above zero. *Not seen here*: one lies below zero; only in the paper's own setting it would read
*contradicted*. *Undecided*: neither. Rates and epochs are chosen as the paper does (protocol test) unless said. A column
speaks of its data and network only.
"""


def findings(root: Path, regimes: tuple[Regime, ...] = REGIMES) -> dict[tuple[str, str], Finding]:
    """(name of the claim, title of the regime) → what was found."""
    scales = {regime.scale: Results(root, regime.scale) for regime in regimes}
    found = {}
    for regime in regimes:
        evidence = Evidence(scales[regime.scale], regime)
        for claim in CLAIMS:
            try:
                finding = evidence.judge(claim.contrasts(evidence), claim.margin)
            except UserError:  # the study was not run in this regime
                finding = Finding(NOT_RUN)
            found[claim.name, regime.title] = finding
    return found


def page(root: Path) -> str:
    found = findings(root)
    ran = [r for r in REGIMES if any(found[claim.name, r.title].word != NOT_RUN for claim in CLAIMS)]
    absent = [r.title for r in REGIMES if r not in ran]
    lines = [HEAD]
    if absent:
        lines.append(f"No runs yet: {'; '.join(absent)}.\n")
    titles = [regime.title for regime in ran]
    lines += [f"| claim | {' | '.join(titles)} |", "|" + "---|" * (len(ran) + 1)]
    for claim in CLAIMS:
        cells = [_cell(found[claim.name, title], claim) for title in titles]
        lines.append(f"| **{claim.text}** {claim.rule} | {' | '.join(cells)} |")
    told = [
        f"- {claim.text} {claim.differs}"
        for claim in CLAIMS
        if claim.differs and len({found[claim.name, t].word for t in titles} - {NOT_RUN}) > 1
    ]
    if told:
        lines += ["\n## Where regimes disagree, and what may lie behind it\n", *told]
    return "\n".join(lines).rstrip() + "\n"


def _cell(finding: Finding, claim: Claim) -> str:
    if finding.word == NOT_RUN:
        return NOT_RUN
    words = ABOVE if claim.margin is None else WITHIN
    kinds: dict[str, list[str]] = {kind: [] for kind in words}
    for name, interval in sorted(finding.contrasts.items(), key=lambda one: one[1].mean):
        half = f" ± {interval.half:.1f}" if interval.n > 1 else " (one seed)"
        kinds[side(interval, claim.margin)].append(f"{name} {signed(interval.mean, 1)}{half}")
    parts = []
    for kind, some in kinds.items():
        if some:
            more = f" … ({len(some)} in all)" if len(some) > SHOWN else ""
            parts.append(f"{words[kind]}: {'; '.join(some[:SHOWN])}{more}")
    return f"**{finding.word}** ({len(kinds['yes'])} of {len(finding.contrasts)}). " + ". ".join(parts)


def write(root: Path, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text(page(root), encoding="utf-8")

"""The page CLAIMS.md: a row per claim, a column per regime, the word of the rule and the numbers behind it in each cell."""

from pathlib import Path

from benchmark.errors import UserError
from benchmark.files import replacing
from plots.claims.evidence import NOT_RUN, Evidence, Finding, Regime
from plots.claims.rules import CLAIMS, Claim
from plots.data import Results
from plots.stats import Interval
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
ABOVE = {"yes": "above zero", "no": "below zero", "open": "open"}
WITHIN = {"yes": "within", "no": "outside", "open": "open"}
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
            found[claim.name, regime.title] = _finding(claim, evidence)
    return found


def _finding(claim: Claim, evidence: Evidence) -> Finding:
    try:
        return evidence.judge(claim.contrasts(evidence), claim.margin)
    except UserError:  # the study was not run in this regime
        return Finding(NOT_RUN)


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
    kinds: dict[str, list[str]] = {"yes": [], "no": [], "open": []}
    ordered = sorted(finding.contrasts, key=lambda one: one[1].mean)
    for name, interval in ordered:
        kinds[_side(interval, claim.margin)].append(_told(name, interval))
    words = ABOVE if claim.margin is None else WITHIN
    parts = []
    for kind in ("no", "open", "yes"):
        some = kinds[kind]
        if some:
            more = f" … ({len(some)} in all)" if len(some) > SHOWN else ""
            parts.append(f"{words[kind]}: {'; '.join(some[:SHOWN])}{more}")
    return f"**{finding.word}** ({len(kinds['yes'])} of {len(ordered)}). " + ". ".join(parts)


def _side(interval: Interval, margin: float | None) -> str:
    if interval.n < 2:
        return "open"
    if margin is None:
        return "yes" if interval.low > 0 else "no" if interval.high < 0 else "open"
    if -margin < interval.low and interval.high < margin:
        return "yes"
    return "no" if interval.low > margin or interval.high < -margin else "open"


def _told(name: str, interval: Interval) -> str:
    half = f" ± {interval.half:.1f}" if interval.n > 1 else " (one seed)"
    return f"{name} {signed(interval.mean, 1)}{half}"


def write(root: Path, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text(page(root), encoding="utf-8")

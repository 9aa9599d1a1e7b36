"""The template and what it may contain: every text is escaped by Jinja2, data is JSON that cannot end its
script element.
"""

import json
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

FOLDER = Path(__file__).parent / "templates"
SCRIPTS = ("charts.js", "runs.js", "tables.js", "filters.js", "page.js")


def render(**content: Any) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["slug"] = slug
    environment.tests["match"] = lambda text, pattern: re.match(pattern, text) is not None
    own = {
        "style": Markup((FOLDER / "style.css").read_text(encoding="utf-8")),
        "script": Markup("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)),
        "json": as_json,
    }
    return environment.get_template("page.html").render(**own, **content)


def as_json(value: Any) -> Markup:
    """JSON for a script element: with no < in it, no text can close the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def slug(text: str) -> str:
    """A part of an id or file name, whatever the text is."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower() or "x"

"""A folder of made-up results and its page, once for all tests of the report; a browser where there is one."""

import shutil
from pathlib import Path

import pytest
from report_factory import HOSTILE, SKILL, write_flawed, write_study
from retrieval_factory import neighbours

from plots import report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page") / "results"
    write_flawed(root)
    # A method, a data set and a traceback that would run as code if a text were not escaped somewhere.
    write_study(
        root, "main", "paper", (*list(SKILL)[:3], HOSTILE), datasets=("</script><b>data",), seeds=3,
        status=lambda method, seed, phase: "error" if method == HOSTILE and seed == 1 else "ok",
    )  # fmt: skip
    return root


@pytest.fixture(scope="session")
def page(results: Path) -> Path:
    return report.write(results)


@pytest.fixture(scope="session")
def retrieval(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A folder whose runs keep what they retrieved."""
    root = tmp_path_factory.mktemp("retrieval") / "results"
    methods = ("untrained", "contrastive", "contextual")
    found = {key: neighbours(data, *key) for key in [(name, seed) for name in methods for seed in range(2)]}
    write_study(root, methods=methods, seeds=2, protocols=("test",), rates=(), retrieved=lambda *key: found[key])
    return root


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Opened:
    """A page in the browser, with everything that it asked for and complained about."""

    def __init__(self, browser, url: str, **options) -> None:
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("console", lambda said: self.complaints.append(said.text))
        self.tab.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.tab.goto(url)


@pytest.fixture
def opened(browser, page):
    made: list[Opened] = []

    def open_page(path: Path = page, **options) -> Opened:
        made.append(Opened(browser, path.resolve().as_uri(), **options))
        return made[-1]

    yield open_page
    for one in made:
        one.context.close()

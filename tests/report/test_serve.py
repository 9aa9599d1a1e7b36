"""The page on loopback: fresh on reload while a study runs, and for nobody else."""

import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from report_factory import write_study


def serve(results, port) -> list[str]:
    told = ["--results", str(results), "--serve", "--port", port]
    return [sys.executable, "-m", "benchmark", "report", *told]


@pytest.fixture
def served(tmp_path):
    write_study(tmp_path, methods=("triplet", "contextual"), seeds=2, protocols=("test",), rates=())
    process = subprocess.Popen(serve(tmp_path, "0"), stdout=subprocess.PIPE, text=True)
    yield process.stdout.readline().split()[0], tmp_path
    process.terminate()
    process.wait(30)


def fetch(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=300) as answer:
        return answer.read().decode()


def test_a_reload_shows_what_has_been_done_since_and_only_this_machine_is_answered(served):
    url, results = served
    assert url.startswith("http://127.0.0.1:")
    assert "4 runs ·" in fetch(url)
    write_study(results, methods=("triplet", "contextual"), seeds=3, protocols=("test",), rates=())
    text = fetch(url)
    assert "6 runs ·" in text
    assert "reload for the latest" in text
    for path, headers, status in (("secret", {}, 404), ("", {"Host": "evil.example:80"}, 403)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(url + path, **headers)
        assert refused.value.code == status


def test_a_port_in_use_is_told(served):
    url, results = served
    port = url.rstrip("/").rpartition(":")[2]
    done = subprocess.run(serve(results, port), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "--port 0" in done.stderr

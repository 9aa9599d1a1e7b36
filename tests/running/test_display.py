"""What a user would lose without a display: the feeling that it is going somewhere."""

import fcntl
import io
import os
import pty
import shutil
import struct
import subprocess
import termios

import pytest
from desk import RUNS, STUDY, Desk

from benchmark.planning.estimate import Estimate, in_words
from benchmark.results.store import KIND, Outcome
from benchmark.running import progress, provenance
from benchmark.running.pools import Loky
from benchmark.running.progress import Progress
from benchmark.spec import RunSpec


def of(spec: RunSpec, seconds: float, score: float = 0.5, status: str = "ok") -> Outcome:
    kind = tuple(getattr(spec, name) for name in KIND)
    return Outcome(status, score, seconds, kind, spec.epochs * spec.batches_per_epoch)


def test_a_sweep_says_at_the_start_what_it_will_do_and_at_the_end_what_it_did(undisturbed: Desk, desk: Desk):
    done = desk.run()
    first, *_, last = done.stderr.splitlines()
    assert "20 runs now, then 8 more" in first
    assert "time: unknown yet" in first
    assert last.startswith(f"{RUNS} runs done now")
    assert "best on glyphs/validation: " in done.stderr
    planned = desk.look("plan", "--set", "seeds=4", "--jobs", "2").stdout
    assert "40 runs: 28 done, 0 failed, 12 to do" in planned
    assert "time with 2 workers: 1 s" in planned


def test_what_a_sweep_took_is_told_from_its_rows_with_shared_runs_once(undisturbed: Desk, desk: Desk):
    assert "nothing is done yet" in desk.look("status").stdout
    shutil.copytree(undisturbed.results, desk.results)
    desk.write(STUDY.replace("seeds = 2", "seeds = 1"), "part.toml")
    told = in_words(desk.store.frame()["seconds"].sum())
    looked = desk.call("status", "small.toml", "part.toml", "--executor", "stand_in:run")
    *_, here, together = looked.stdout.splitlines()
    assert here == f"  {RUNS - 6} runs, which took {told} of one worker"  # a seed less of three methods
    assert together == f"together {RUNS} runs, which took {told} of one worker"


def test_a_terminal_gets_one_bar(desk: Desk):
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 40, 140, 0, 0))  # lines, columns
    process = subprocess.Popen(
        desk.command(*desk.arguments("--backend", "sequential")), cwd=desk.folder, env=desk.environ(), stderr=inner
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            block = os.read(outer, 65536)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        shown += block
    assert process.wait() == 0
    assert f"{RUNS}/{RUNS}".encode() in shown
    assert b"\r" in shown


def test_plain_lines_are_few_and_name_the_best_of_every_method():
    stream = io.StringIO()
    progress = Progress(stream)
    progress.start(300, lambda: None)
    for i in range(300):
        method = "triplet" if i % 2 else "contrastive"
        spec = RunSpec(dataset="glyphs", method=method, seed=i)
        progress.finished(spec, of(spec, 1.0, i / 300, "error" if i == 7 else "ok"))
    progress.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) <= 3
    assert lines[-1].startswith("300/300 runs, 1 failed")
    assert "triplet 99.7, contrastive 99.3" in lines[-1]


def test_time_is_estimated_from_runs_of_the_same_kind():
    spec = RunSpec(dataset="glyphs", epochs=10, batches_per_epoch=20)
    estimate = Estimate([of(spec, 4.0), of(spec, 6.0), of(spec, 5.0), of(spec.replace(lane="frozen"), 99.0)])
    assert estimate.of(spec) == 5.0
    assert estimate.of(spec.replace(epochs=20)) == pytest.approx(10.0)
    assert estimate.of(spec.replace(method="triplet")) == 5.0
    assert estimate.of(spec.replace(dataset="cub")) is None
    assert estimate.total([spec] * 10, waiting=10, slots=2) == pytest.approx(50.0)
    assert estimate.total([spec.replace(dataset="cub")]) is None
    assert [in_words(s) for s in (None, 0.2, 75, 600, 7200)] == ["unknown yet", "1 s", "75 s", "10 min", "2.0 h"]


def test_the_untrained_row_says_nothing_about_the_time_of_training():
    spec = RunSpec(dataset="glyphs", epochs=2, batches_per_epoch=10)
    untrained = spec.replace(method="untrained", epochs=1, batches_per_epoch=1)
    estimate = Estimate([of(untrained, 60.0)])
    assert (estimate.of(untrained), estimate.of(spec)) == (60.0, None)
    assert Estimate([of(spec, 60.0)]).of(untrained) is None, "nor training about its own"
    assert estimate.total([untrained] * 2, waiting=10) is None


def test_runs_that_wait_for_tuning_are_counted_as_training_while_only_untrained_rows_are_left():
    spec = RunSpec(dataset="glyphs", epochs=2, batches_per_epoch=10)
    untrained = spec.replace(method="untrained", epochs=1, batches_per_epoch=1)
    estimate = Estimate([of(spec.replace(lane="frozen"), 1.0)])
    estimate.add(of(spec, 60.0))
    assert estimate.total([untrained] * 3, waiting=10, slots=2) == pytest.approx(300.0)
    estimate.add(of(untrained, 20.0))
    assert estimate.total([untrained] * 3, waiting=10, slots=2) == pytest.approx(330.0)
    assert estimate.total([untrained] * 3) == pytest.approx(60.0)
    assert estimate.total([]) == 0.0


def test_a_final_run_is_not_thought_to_take_as_little_as_a_trial():
    trial = RunSpec(dataset="glyphs", method="contrastive", phase="tune")
    final, slow = trial.replace(phase="final"), trial.replace(method="s2sd")
    estimate = Estimate([of(trial, 9.0)] * 8 + [of(slow, 90.0)] * 8)
    assert estimate.of(final) == 9.0, "before any final run"
    estimate.add(of(final, 15.0))
    assert [estimate.of(spec) for spec in (trial, final, slow)] == [9.0, 15.0, 90.0]
    assert estimate.of(final.replace(method="triplet")) == 15.0
    assert estimate.of(slow.replace(phase="final")) == 90.0


def test_runs_on_another_part_of_a_data_set_have_an_estimate():
    spec = RunSpec(dataset="glyphs", epochs=2, batches_per_epoch=10)
    estimate = Estimate([of(spec, 4.0), of(spec, 6.0), of(spec, 5.0)])
    assert estimate.of(spec.replace(dataset="glyphs?script=greek", method="triplet")) == 5.0
    assert estimate.of(spec.replace(lane="frozen")) is None


def test_the_first_runs_of_a_kind_which_draw_data_and_compute_features_do_not_count_as_typical():
    spec = RunSpec(dataset="glyphs", lane="frozen")
    first = [of(spec, 905.0)._replace(preparation=900.0)]
    assert Estimate(first).of(spec) == 5.0
    beside = of(spec, 906.0)._replace(preparation=900.5)  # another worker waited for the same features
    later = of(spec, 5.5)._replace(preparation=0.5)
    assert Estimate([*first, beside, later]).of(spec) == pytest.approx(5.5)


def test_cards_are_handed_out_one_a_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(provenance, "gpu_count", lambda: 2)
    assert Loky(2).devices == ["cuda:0", "cuda:1"]
    assert Loky(3).devices == ["cuda:0", "cuda:1", "cuda:0"]


@pytest.mark.parametrize(("visible", "count"), [("", 0), ("-1", 0), ("0", 1), ("0,3", 2)])
def test_cards_that_are_hidden_do_not_count(monkeypatch: pytest.MonkeyPatch, visible: str, count: int):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    provenance.gpu_count.cache_clear()
    assert provenance.gpu_count() == count
    provenance.gpu_count.cache_clear()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["list"], ["plan", "main"], ["status", "main"]])
def test_help_list_and_plan_answer_without_loading_torch(desk: Desk, arguments: list[str]):
    code = (
        "import sys; from benchmark.__main__ import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'pandas', 'joblib') if m in sys.modules])"
    )
    done = subprocess.run([*desk.command()[:1], "-c", code], cwd=desk.folder, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_doctor_says_what_to_do(desk: Desk):
    done = desk.call("doctor")
    assert done.returncode == 0, done.stdout
    for word in ("python", "torch", "processor", "glyphs", "CUB_200_2011", "efficientnet_lite0", "free in results"):
        assert word in done.stdout


def test_without_a_terminal_packing_says_how_far_it_is_and_how_long_it_takes(monkeypatch, capfd):
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    with progress.Images("features of cub", 1000, 200) as images:
        images.reach(200)
        images.reach(600)
        images.reach(1000)
    first, half, last = capfd.readouterr().err.splitlines()
    assert first == "features of cub: 200 of 1,000 images, time left: unknown yet"
    assert half.startswith("features of cub: 600 of 1,000 images, time left: ")
    assert last == "features of cub: 1,000 of 1,000 images, time left: 0 s"

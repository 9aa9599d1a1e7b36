"""Where a run was made: versions, commit, processor, graphics card. Stored with every row.

Nothing here imports torch; a worker that has it loaded is asked for the name of its device.
"""

import os
import platform
import shutil
import subprocess
import sys
from functools import cache, partial
from importlib import metadata
from pathlib import Path

PACKAGES = (
    "torch", "torchvision", "pytorch-metric-learning", "timm", "numpy", "scipy", "pillow", "matplotlib",
    "optuna",
)  # fmt: skip
VECTOR_UNITS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # what libraries choose their kernels by
ROOT = Path(__file__).resolve().parents[2]


@cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = ""
    return found


@cache
def commit() -> tuple[str, bool]:
    """The commit that the code is from, and whether it has been changed since; ("", False) outside git."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():  # installed below somebody else's repository
        return "", False
    ask = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True)
    head = ask([git, "rev-parse", "HEAD"])
    changed = ask([git, "status", "--porcelain", "--", "benchmark", "baselines"])
    return ("", False) if head.returncode else (head.stdout.strip(), bool(changed.stdout.strip()))


@cache
def cpu() -> str:
    """Name, model and vector units: a name such as "AMD EPYC" stands for processors that round differently."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        first = ""
    about = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    if "model name" not in about:
        return platform.processor() or platform.machine()
    model = "-".join(about.get(key, "?") for key in ("cpu family", "model", "stepping"))
    units = [unit for unit in VECTOR_UNITS if unit in about.get("flags", "").split()]
    return " ".join((about["model name"], model, *units))


def gpu(device: str | None) -> str:
    """The name of the graphics card that a run used, "" for none."""
    torch = sys.modules.get("torch")
    if device == "cpu" or torch is None or not torch.cuda.is_available():
        return ""
    return torch.cuda.get_device_name(device)


@cache
def gpu_count() -> int:
    """Graphics cards that this process may use, without loading torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([name for name in visible.split(",") if name.strip() not in ("", "-1")])
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return 0
    listed = subprocess.run([tool, "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines()) if listed.returncode == 0 else 0

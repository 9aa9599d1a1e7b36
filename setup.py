"""Puts the studies, the paper's numbers and the reference results into the wheel; everything else stands in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
SHIPPED = ("studies/*.toml", "results/published/*.csv", "results/reference/**/*.parquet")


class BuildWithShipped(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # a checkout has them at its top
            return
        for pattern in SHIPPED:
            found = sorted(HERE.glob(pattern))
            if not found:
                raise FileNotFoundError(f"no {pattern} to put into the wheel: build it from a whole checkout")
            for path in found:
                target = Path(self.build_lib, "benchmark", "_shipped", path.relative_to(HERE))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


setup(cmdclass={"build_py": BuildWithShipped})

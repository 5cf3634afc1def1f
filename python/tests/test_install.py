# SPDX-License-Identifier: MIT
"""'pip install .' without a network, into an environment of its own."""
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

import girsanov
from conftest import ROOT
from girsanov import _lib

USE = "import girsanov; print(girsanov.__file__, girsanov.__version__)"


def test_pip_installs_it(tmp_path):
    for module in "pip", "setuptools", "wheel", "venv":
        if not importlib.util.find_spec(module):
            pytest.skip(f"there is no {module}")
    # The tests' own words must not get in.
    clean = {k: v for k, v in os.environ.items()
             if k not in ("PYTHONPATH", "GIRSANOV_LIBRARY")}
    shutil.copytree(ROOT / "python", tmp_path / "source",
                    ignore=shutil.ignore_patterns("build", "*.egg-info"))
    new = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages",
                    "--without-pip", new], check=True, env=clean)
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", new / "bin" / "python",
         "install", "--no-index", "--disable-pip-version-check", "-q", "."],
        cwd=tmp_path / "source", env=clean, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    # As 'make install PREFIX=venv' puts it.
    (new / "lib" / "libgirsanov.so").symlink_to(
        os.path.abspath(_lib.lib._name))
    place, version = subprocess.run(
        [new / "bin" / "python", "-c", USE], check=True, env=clean,
        cwd=tmp_path, stdout=subprocess.PIPE, text=True).stdout.split()
    assert place.startswith(str(new)) and version == girsanov.__version__
    assert os.path.exists(os.path.join(os.path.dirname(place), "py.typed"))

# SPDX-License-Identifier: MIT
"""pip without a network, setuptools or a source tree that it may write to,
into an environment of its own."""
import ast
import email
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import girsanov
from conftest import ROOT
from girsanov import _lib

USE = ("import girsanov, importlib.metadata as m; "
       "print(girsanov.__file__, girsanov.__version__, m.version('girsanov'))")
VERSION = re.search(r'GSV_VERSION "(.*)"',
                    (ROOT / "include" / "girsanov.h").read_text())[1]
# The tests' own words must not get in.
CLEAN = {k: v for k, v in os.environ.items()
         if not k.startswith(("PYTHON", "GIRSANOV", "PIP_"))}


def run(*words, cwd):
    done = subprocess.run(words, cwd=cwd, env=CLEAN, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def content(folder):
    return {p.relative_to(folder): p.is_file() and
            hashlib.sha256(p.read_bytes()).digest() for p in folder.rglob("*")}


class Place:
    """A copy of the source as somebody has it who downloads it, and a new
    environment, whose pip finds no index and no setuptools."""

    def __init__(self, folder):
        for module in "pip", "venv":
            if not importlib.util.find_spec(module):
                pytest.skip(f"there is no {module}")
        self.folder, self.venv = folder, folder / "venv"
        self.source = folder / "checkout" / "python"
        shutil.copytree(ROOT / "python", self.source,
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name in "LICENSE", "include/girsanov.h":
            to = self.source.parent / name
            to.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, to)
        self.before = content(self.source)
        # NumPy is the system's; setuptools is hidden behind an empty package.
        run(sys.executable, "-m", "venv", "--system-site-packages",
            "--without-pip", self.venv, cwd=folder)
        site = next(self.venv.glob("lib/python*/site-packages"))
        for module in "setuptools", "wheel", "pkg_resources":
            (site / f"{module}.py").write_text("raise ImportError(__name__)")
        # As 'make install PREFIX=venv' puts it.
        (self.venv / "lib" / "libgirsanov.so").symlink_to(
            os.path.abspath(_lib.lib._name))

    def pip(self, verb, *words):
        index = [] if verb == "uninstall" else ["--no-index"]
        return run(sys.executable, "-m", "pip", "--python",
                   self.venv / "bin" / "python", verb, *index,
                   "--disable-pip-version-check", "-q", *words,
                   cwd=self.source)

    def use(self):
        """Where the package is that a program gets."""
        file, version, installed = run(
            self.venv / "bin" / "python", "-B", "-c", USE,
            cwd=self.folder).split()
        assert version == installed == girsanov.__version__ == VERSION
        return pathlib.Path(file).parent

    def leave(self):
        """Nothing was written into the source, and nothing stays."""
        assert content(self.source) == self.before
        self.pip("uninstall", "-y", "girsanov")
        site = next(self.venv.glob("lib/python*/site-packages"))
        assert [p for p in site.iterdir() if "girsanov" in p.name] == []


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def check_metadata(info):
    meta = email.message_from_string((info / "METADATA").read_text())
    assert info.name == f"girsanov-{VERSION}.dist-info"
    assert (meta["Name"], meta["Version"]) == ("girsanov", VERSION)
    assert meta["License"] == "MIT" and meta["Requires-Python"] == ">=3.9"
    assert meta.get_all("Requires-Dist") == ["numpy"]
    assert meta.get_payload() == (ROOT / "python" / "README.md").read_text()
    assert (info / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_python_3_9_can_read_it():
    for folder in "girsanov", "pep517":
        for path in (ROOT / "python" / folder).glob("*.py"):
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n case 1: pass", feature_version=(3, 9))


def test_pip_installs_it(place):
    folders = [place.source, *(p for p in place.source.rglob("*")
                               if p.is_dir())]
    for folder in folders:
        folder.chmod(0o555)  # root may write all the same: leave() looks
    try:
        place.pip("install", ".")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    where = place.use()
    assert place.venv in where.parents
    installed = {p.name for p in where.iterdir()} - {"__pycache__"}
    assert installed == {p.name for p in (ROOT / "python" / "girsanov")
                         .iterdir()} - {"__pycache__"}
    check_metadata(next(where.parent.glob("*.dist-info")))
    place.leave()


def test_pip_installs_it_editable(place):
    place.pip("install", "-e", ".")
    assert place.use() == place.source / "girsanov"
    place.leave()


def build(hook, source, to):
    """One hook of the backend, in a process of its own as pip runs it."""
    to.mkdir()
    name = run(sys.executable, "-c", "import sys; sys.path.insert(0, 'pep517')"
               "; import backend; print(getattr(backend, sys.argv[1])("
               "sys.argv[2]))", hook, to, cwd=source).strip()
    return to / name


def test_a_source_archive_makes_the_same_wheel(place, tmp_path):
    direct = build("build_wheel", place.source, tmp_path / "a")
    packed = build("build_sdist", place.source, tmp_path / "b")
    run(sys.executable, "-m", "tarfile", "-e", packed, tmp_path / "c",
        cwd=tmp_path)
    unpacked = tmp_path / "c" / f"girsanov-{VERSION}"
    assert (unpacked / "PKG-INFO").exists()
    again = build("build_wheel", unpacked, tmp_path / "d")
    assert direct.name == again.name == f"girsanov-{VERSION}-py3-none-any.whl"
    assert direct.read_bytes() == again.read_bytes()
    assert content(place.source) == place.before
    place.pip("install", packed)
    assert place.venv in place.use().parents

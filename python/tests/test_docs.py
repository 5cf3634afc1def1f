# SPDX-License-Identifier: MIT
"""What the documents show is what happens; examples run."""
import doctest
import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys

import pytest

import girsanov
from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


@pytest.mark.parametrize("name", ["", ".data", ".model", ".fit", ".diagnose",
                                  "._lib", ".look",
                                  ".external"])
def test_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module("girsanov" + name),
                                    optionflags=doctest.ELLIPSIS)
    assert not failed and (tried or name in (".fit", ".diagnose", "._lib"))


def test_the_tutorial(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    path = ROOT / "docs" / "PYTHON.md"
    blocks = re.findall("^```python\n(.*?)^```", path.read_text(), re.S | re.M)
    text = "\n".join(b.replace("\n\n", "\n<BLANKLINE>\n") for b in blocks)
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(doctest.DocTestParser().get_doctest(
        text, {}, path.name, str(path), 0))
    assert not runner.failures and runner.tries > 20


def test_the_tutorial_names_everything_public():
    text = (ROOT / "docs" / "PYTHON.md").read_text()
    members = {n for kind in (girsanov.Model, girsanov.Fit, girsanov.Series)
               for n in vars(kind) if not n.startswith("_")}
    missing = [n for n in [*girsanov.__all__, *members]
               if not re.search(rf"\b{n}\b", text)]
    assert not missing


def test_everything_public_has_a_docstring():
    for name in girsanov.__all__:
        thing = getattr(girsanov, name)
        if inspect.isclass(thing):
            assert thing.__doc__, name
            for member, value in vars(thing).items():
                if not member.startswith("_") and (
                        callable(value) or isinstance(value, property)):
                    assert inspect.getdoc(getattr(thing, member)), member


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(path):
    for module in re.findall(r"^(?:import|from) (\w+)", path.read_text(), re.M):
        if not importlib.util.find_spec(module):
            pytest.skip(f"there is no {module}")
    done = subprocess.run([sys.executable, path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout

# SPDX-License-Identifier: MIT
"""_header.py is what the compiler makes of girsanov.h."""
import ctypes
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT
from girsanov import _header, _lib

STRUCTS = [s for s in vars(_header).values()
           if isinstance(s, type) and issubclass(s, ctypes.Structure)
           and s is not ctypes.Structure]


def test_the_file_is_up_to_date():
    subprocess.run([sys.executable, ROOT / "tools" / "python-header",
                    "--check"], check=True)


def test_the_version_is_the_same_everywhere():
    def first(path, pattern):
        return re.search(pattern, (ROOT / path).read_text(), re.M)[1]
    assert first("r/DESCRIPTION", r"^Version: (\S+)") == _header.VERSION
    assert first("CITATION.cff", r"^version: (\S+)") == _header.VERSION
    # Above it may be what is not released yet.
    newest = first("CHANGELOG.md", r"^## (\d\S*)")
    assert newest == _header.VERSION
    # Names of libraries and packages have the minor version.
    named = re.findall(r"(?:Girsanov |libgirsanov(?:\.so\.)?)(\d+\.\d+)",
                       (ROOT / "docs/INSTALL.md").read_text())
    minor = ".".join(_header.VERSION.split(".")[:2])
    assert len(named) == 4 and set(named) == {minor}


def assertions():
    """A line of C for each fact."""
    for struct in STRUCTS:
        name = struct.__name__
        yield f"sizeof(struct {name}) == {ctypes.sizeof(struct)}"
        for field, kind in struct._fields_:
            place = getattr(struct, field)
            yield f"offsetof(struct {name}, {field}) == {place.offset}"
            yield f"sizeof(((struct {name} *)0)->{field}) == {place.size}"
            if kind in (ctypes.c_double, ctypes.c_size_t, ctypes.c_bool):
                word = {ctypes.c_double: "double", ctypes.c_size_t: "size_t",
                        ctypes.c_bool: "bool"}[kind]
                yield (f"_Generic(((struct {name} *)0)->{field}, "
                       f"{word}: 1, default: 0)")
    for name, value in _header.CONSTANTS.items():
        yield f"{name} == {value}"


def compiles(tmp_path, facts):
    source = tmp_path / "layout.c"
    source.write_text("#include <stddef.h>\n#include \"girsanov.h\"\n" + "".join(
        f"_Static_assert({fact}, \"{fact}\");\n" for fact in facts))
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    return subprocess.run(
        [compiler, "-std=c17", "-fsyntax-only", "-I", ROOT / "include",
         source], stderr=subprocess.PIPE, text=True)


def test_layouts_are_those_of_the_compiler(tmp_path):
    if not (os.environ.get("CC") or shutil.which("cc")):
        pytest.skip("no C compiler")
    facts = list(assertions())
    assert len(STRUCTS) >= 18 and len(facts) > 400
    done = compiles(tmp_path, facts)
    assert done.returncode == 0, done.stderr
    assert compiles(tmp_path, ["offsetof(struct gsv_options, steps) == 16"]
                    ).returncode != 0


def test_every_function_of_the_library_is_known():
    exported = subprocess.run(
        ["nm", "-D", "--defined-only", _lib.lib._name], check=True, text=True,
        stdout=subprocess.PIPE).stdout.split()
    functions = {w for w in exported if w.startswith("gsv_")}
    assert functions == set(_header.FUNCTIONS)


def test_words_of_enums():
    assert _header.ENUMS["gsv_scheme"] == {
        "euler": 0, "milstein": 1, "heun": 2, "srk": 3, "gillespie": 4,
        "tau-leap": 5}
    assert _header.ENUMS["gsv_objective"]["mse-adjoint"] == 2

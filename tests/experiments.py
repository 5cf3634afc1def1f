#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: tests/experiments.py ROOT

Every script of the experiments can be run and can be parsed, every experiment
says in a README.md what it is for, and what make reproduce runs is there.
"""
import ast
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1]) / "experiments"


def complaints():
    scripts = sorted(FOLDER.glob("*/run")) + [FOLDER / "reproduce"]
    scripts += FOLDER.glob("*/*.py")
    for path in [*scripts, FOLDER / "study.py"]:
        text = path.read_text()
        if "python3" in text.split("\n", 1)[0] or path.suffix == ".py":
            try:
                ast.parse(text, str(path))
            except SyntaxError as e:
                yield "%s:%d: %s" % (path, e.lineno, e.msg)
        elif subprocess.run(["bash", "-n", str(path)]).returncode:
            yield "%s: bash cannot parse it" % path
        if not path.suffix and not path.stat().st_mode & 0o100:
            yield "%s: cannot be run: chmod +x" % path
    paper = (FOLDER.parent / "docs" / "PAPER.md").read_text()
    for name in sorted(set(re.findall(r"experiments/([a-z]+)/run", paper))):
        if not (FOLDER / name / "run").exists():
            yield "docs/PAPER.md: there is no experiments/%s/run" % name


found = list(complaints())
print("\n".join(found))
sys.exit(1 if found else 0)

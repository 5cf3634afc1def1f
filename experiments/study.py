# SPDX-License-Identifier: MIT
"""Shared by the experiments of the paper: the command to run, the folder of
results, the cost of a run, and claims.

    GIRSANOV   the command (build/girsanov)
    OUT        folder of results and figures (the experiment's own)
    FULL=1     the sizes of the paper; otherwise quick ones
    TINY=1     a few seconds, only to test that it runs
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GIRSANOV = os.environ.get("GIRSANOV", str(ROOT / "build" / "girsanov"))
FULL = os.environ.get("FULL", "") not in ("", "0")
TINY = os.environ.get("TINY", "") not in ("", "0")


def sized(tiny, quick, full):
    return full if FULL else tiny if TINY else quick


class Cost:
    """Of a process: CPU seconds of all cores, and its memory."""

    def __init__(self, usage, mib):
        self.cpu = usage.ru_utime + usage.ru_stime
        self.mib = mib


def wait(pid, memory):
    """The status of a child, and its cost. Its largest memory is looked up
    while it runs, if asked for: what the system tells of it in the end begins
    with the memory of the process that it was forked from."""
    mib = math.nan
    while memory:
        try:
            status = Path("/proc/%d/status" % pid).read_text()
            mib = int(status.split("VmHWM:")[1].split()[0]) / 1024.0
        except IndexError:  # it has ended
            break
        time.sleep(0.005)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), Cost(usage, mib)


class Study:
    def __init__(self, script):
        self.name = Path(script).resolve().parent.name
        self.out = Path(os.environ.get("OUT", Path(script).resolve().parent))
        self.out.mkdir(parents=True, exist_ok=True)
        self.lines, self.claims = [], []
        self.scratch = tempfile.TemporaryDirectory(prefix="girsanov-")
        self.folder = Path(self.scratch.name)
        if not os.access(GIRSANOV, os.X_OK):
            sys.exit("there is no command %s: run make first" % GIRSANOV)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def run(self, verb, *words, check=True, memory=False):
        """What a verb prints, and what it cost; None where it failed and
        check is false."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                [GIRSANOV, verb, *map(str, words), "-q"], stdout=out,
                stderr=said)
            process.returncode, cost = wait(process.pid, memory)
            if process.returncode and check:
                said.seek(0)
                sys.exit("%sgirsanov %s ended with code %d" % (
                    said.read().decode(), " ".join(map(str, (verb, *words))),
                    process.returncode))
            out.seek(0)
            text = None if process.returncode else out.read().decode()
        return text, cost

    def json(self, verb, *words):
        """What a verb says, with what it cost."""
        text, cost = self.run(verb, *words, "--json")
        return {**json.loads(text), "cpu": cost.cpu}

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def claim(self, what, paper, ours, holds, known=""):
        """One row of the table of make reproduce. known says why it is not
        expected to hold here; docs/PAPER.md says it at length. What is
        indented is not the paper's, but what we have in its place."""
        verdict = ("ours" if holds and what.startswith(" ") else "holds"
                   if holds else "differs: " + known if known else "FAILS")
        self.claims.append("\t".join((what, paper, ours, verdict)))

    def plot(self, name, script):
        """Draws OUT/name with gnuplot, which is run in the scratch folder. A
        white ground: legible on dark pages, too."""
        head = "set terminal svg size %s font 'sans,13' background '#ffffff'\n"
        size, script = script.lstrip().split("\n", 1)
        subprocess.run(["gnuplot"], cwd=self.folder, check=True, input=(
            head % size + "set output '%s'\n" % (self.out / name)
            + script).encode())

    def close(self):
        (self.out / "results.txt").write_text("\n".join(self.lines) + "\n")
        if "CLAIMS" in os.environ:
            with open(os.environ["CLAIMS"], "a") as f:
                f.write("".join(c + "\n" for c in self.claims))
        self.scratch.cleanup()

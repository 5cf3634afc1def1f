# SPDX-License-Identifier: MIT
"""Transcripts: shell sessions with the command, run again and compared.

    $ girsanov check nothing.sde          a command for sh; '> ' continues it
    ...                                   what it wrote to standard output
    ! girsanov: cannot open ...           what it wrote to standard error
    [1]                                   its exit code, where it is not 0

Every other line before the first command is a remark. A session has one fresh
directory of its own. Numbers are compared as far as their digits say, and to
1e-5 of themselves: another compiler's last bits do not matter. On pages for
people a search's result may be off by more, and seconds are real ones.
"""
import json
import re
import subprocess

# What differs from run to run.
MASKS = [
    (r"[0-9.e+-]+ s\b", "<seconds> s"),
    (r"[0-9.]+ MiB of working", "<memory> MiB of working"),
    (r'"seconds": [0-9.e+-]+', '"seconds": <seconds>'),
    (r'"memory": [0-9]+', '"memory": <memory>'),
    (r'"gradient_error": [0-9.e+-]+', '"gradient_error": <small>'),
    (r'"gradient_worst": "[^"]*"', '"gradient_worst": <name>'),
    (r"differences by [0-9.e+-]+ at most \(.*\)",
     "differences by <small> at most (<name>)"),
]

NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


class Step:
    """One command and the lines that follow it."""

    def __init__(self, command):
        self.command = command
        self.expected = []
        self.actual = []

    def prompt(self):
        return ("$ " + self.command).replace("\n", "\n> ").split("\n")


def parse(lines):
    """The remarks before the first command, and the steps."""
    head, steps = [], []
    for line in lines:
        if line.startswith("$ "):
            steps.append(Step(line[2:]))
        elif not steps:
            head.append(line)
        elif line.startswith("> ") and not steps[-1].expected:
            steps[-1].command += "\n" + line[2:]
        else:
            steps[-1].expected.append(line)
    return head, steps


def not_json(name):
    raise ValueError(name + " is not JSON")


def run_step(step, directory, environment):
    done = subprocess.run(["sh", "-c", step.command], cwd=directory,
                          env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=600, check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    piped = "|" in step.command
    if "--json" in step.command and out and not piped:
        json.loads(out, parse_constant=not_json)
    lines = out.splitlines() + ["! " + line for line in err.splitlines()]
    if done.returncode:
        lines.append("[%d]" % done.returncode)
    step.actual = lines


def masked(line):
    for pattern, mask in MASKS:
        line = re.sub(pattern, mask, line)
    return line


def close(wanted, given, slack):
    """Whether two numbers agree, as texts, as far as their digits say."""
    if wanted == given:
        return True
    if re.fullmatch(r"-?\d+", wanted) and re.fullmatch(r"-?\d+", given):
        return False
    digits, _, exponent = wanted.lower().partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    a, b = float(wanted), float(given)
    return abs(a - b) <= slack * abs(a) + 1.01 * unit


def same(wanted, given, slack=1e-5):
    """Whether two lines agree but for the last digits of their numbers."""
    wanted, given = masked(wanted), masked(given)
    if NUMBER.split(wanted) != NUMBER.split(given):
        return False
    return all(close(a, b, slack) for a, b in
               zip(NUMBER.findall(wanted), NUMBER.findall(given)))


def agrees(step, slack=1e-5):
    return (len(step.expected) == len(step.actual) and
            all(same(w, g, slack)
                for w, g in zip(step.expected, step.actual)))


def difference(step, slack=1e-5):
    """The step with - and + before the lines that differ."""
    lines = ["  " + line for line in step.prompt()]
    most = max(len(step.expected), len(step.actual))
    for i in range(most):
        wanted, given = step.expected[i:i + 1], step.actual[i:i + 1]
        if wanted and given and same(wanted[0], given[0], slack):
            lines.append("  " + given[0])
        else:
            lines += ["- " + w for w in wanted] + ["+ " + g for g in given]
    return "\n".join(lines)


def run(steps, place, slack=1e-5):
    """The differences, as one text; empty where there are none."""
    for step in steps:
        run_step(step, place.work, place.environment)
    return "\n".join(difference(s, slack) for s in steps
                     if not agrees(s, slack))


def render(head, steps, mask=masked):
    lines = list(head)
    for step in steps:
        lines += step.prompt() + [mask(line) for line in step.actual]
    return lines

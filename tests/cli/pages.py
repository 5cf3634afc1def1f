# SPDX-License-Identifier: MIT
"""The pages of the book: what they show is run, or marked and looked at.

A page has one fresh directory, with examples/ and build/ in it. By kind, in the
order of the page, its blocks are

    console     a transcript (see transcript.py), compared with what is said now
    sh          a script that must end with 0, with small data and short fits
    sde         a model that must be understood
    python      a program that must end with 0, or the file '# NAME.py' of its
                first line, for a transcript; sessions with >>> are those of
                PYTHON.md, which python/tests runs
    r           the same for R
    c           code of examples/
    cmake       lines for a project, as in tests/install, which the test of the
                installation builds
    text, none  what a program said, a formula, a sketch

An sde block that begins with '# NAME.sde' is that file for what comes after it.
Programs for which a module is not installed are left out. 'shown' behind the
kind marks a block that no test can run: it needs hours, a cluster, root or what
Debian does not have. Of these the words are looked at: verbs, options, targets
of make, scripts and files of examples/ exist, Python compiles. The same holds
for commands in running text. A command in a block of no kind is an error.
"""
import ast
import functools
import os
import re
import shlex
import shutil
import subprocess

import transcript

# Searches end within a hundredth of a standard error of the same place.
SLACK = 1e-3
# Programs of others, whose words we cannot know.
FOREIGN = {"R", "apt-get", "awk", "cat", "cc", "cd", "cut", "head", "pip", "podman",
           "printf", "python3", "tail", "venv/bin/pip"}
FOREIGN_OPTIONS = {"--mca"}
# Scripts must be quick here: small data and short fits.
QUICK = [(r"girsanov fit\b", r"\g<0> --iterations 30"),
         (r"--tracks \d+ --times \S+", "--tracks 1 --times 0:0.5:6")]
A_COMMAND = re.compile(
    r"^\s*(\$ |\$?girsanov |make\b|sudo |mpirun |sbatch |cc |podman |python3 |"
    r"pip |apt-get |import |from \w+ import |def |class |try:|find_package|"
    r"(build|tools|experiments|examples|tests|bench)/\S+/)")


class Block:
    """A fenced block: its kind, whether it is only shown, its text."""

    def __init__(self, line, head, body):
        self.line, self.body = line, body
        self.kind, _, mark = head.partition(" ")
        self.mark = mark


def cut(text):
    """The running text, and the blocks between its pieces."""
    parts = text.split("```")
    blocks, line = [], 1
    for i, part in enumerate(parts):
        if i % 2:
            head, _, body = part.partition("\n")
            blocks.append(Block(line, head, body))
        line += part.count("\n")
    return parts[::2], blocks


def find(root):
    """Every page, by its name in messages and on the command line."""
    found = [*root.glob("*.md"), *(root / "docs").glob("*.md"),
             *(root / "examples").rglob("*.md"), root / "python" / "README.md",
             *(root / "experiments").rglob("*.md")]
    for path in sorted(p for p in found if p.name != "CHANGELOG.md"):
        yield (path.stem if path.parent == root / "docs" and
               path.stem != "README" else str(path.relative_to(root))), path


# --- Words of commands that are not run -------------------------------------

class Words:
    """What words of commands may be."""

    def __init__(self, girsanov, root):
        def say(*words):
            return subprocess.run([girsanov, *words], text=True, check=True,
                                  stdout=subprocess.PIPE).stdout
        self.root = root
        verbs = [w for w in say("--complete", "").split()
                 if w.isalpha() and w != "help"]
        self.options = {
            verb: set(re.findall(r"(?<!\S)-{1,2}[a-z][a-z0-9-]*",
                                 say(verb, "--help"))) for verb in verbs}
        self.options[""] = {"--help", "--version"}
        self.every = set().union(*self.options.values())
        self.targets = set(re.findall(
            r"^([a-z-]+):", (root / "Makefile").read_text(), re.M))

    def girsanov(self, words):
        verb = words[0] if words and not words[0].startswith("-") else ""
        if not words or verb in ("VERB", "help"):
            return
        if verb not in self.options:
            yield "there is no verb '%s'" % verb
            return
        for word in words:
            option = word.partition("=")[0]
            if (re.match(r"--?[a-z]", option) and
                    option not in self.options[verb]):
                yield "'%s' has no option %s" % (verb, option)
            if (word.startswith("examples/") and
                    not (self.root / word).exists()):
                yield "there is no " + word

    def make(self, words):
        for word in words:
            if "=" not in word and word not in self.targets:
                yield "there is no target '%s'" % word

    def script(self, words):
        """A program of ours, whose words stand in its own text."""
        path = self.root / words[0]
        if words[0].startswith("build"):
            return
        if not os.access(path, os.X_OK):
            yield "there is no program " + words[0]
            return
        text = path.read_text(errors="replace")
        for word in words[1:]:
            if re.match(r"-{0,2}[a-z][a-z-]+$", word) and word not in text:
                yield "%s does not know '%s'" % (words[0], word)

    def command(self, words):
        """What is wrong with one command, without pipes."""
        while words and (re.match(r"\w+=", words[0]) or
                         words[0] in ("sudo", "mpirun", "nice", "sbatch")):
            first = words.pop(0)
            if first == "mpirun":
                del words[:2]
        if not words:
            return
        name, rest = words[0], words[1:]
        if name in ("girsanov", "$girsanov", "build/girsanov"):
            yield from self.girsanov(rest)
        elif name == "make":
            yield from self.make(rest)
        elif name in FOREIGN:
            return
        elif "/" in name:
            yield from self.script(words)
        else:
            yield "what is '%s'?" % name

    def line(self, text):
        for one in re.split(r"\||&&|;", re.sub(r"(^|\s)#.*", "", text)):
            try:
                words = shlex.split(one)
            except ValueError as error:
                yield str(error)
                continue
            yield from self.command(words)

    def lines(self, text):
        for line in text.replace("\\\n", " ").splitlines():
            for wrong in self.line(line):
                yield "%s: %s" % (line.strip(), wrong)

    def span(self, text):
        """`...` in running text."""
        text = " ".join(text.split())
        if re.match(r"girsanov [a-z]+( |$)|make [a-z-]+$", text):
            for wrong in self.line(re.sub("[…|]|'.*'", "", text)):
                yield "`%s`: %s" % (text, wrong)
        option = re.match(r"--[a-z][a-z0-9-]*", text)
        if option and option.group() not in self.every | FOREIGN_OPTIONS:
            yield "`%s`: no verb has it" % text


words_of = functools.lru_cache(Words)


# --- Blocks -----------------------------------------------------------------

@functools.lru_cache
def python():
    """The first Python that has NumPy, or none."""
    for name in "python3", "/usr/bin/python3":
        if not subprocess.run([name, "-c", "import numpy"],
                              stderr=subprocess.DEVNULL).returncode:
            return shutil.which(name)
    return None


class Run:
    """One page, from block to block."""

    def __init__(self, path, place):
        self.path, self.place = path, place
        self.words = words_of(place.girsanov, place.root)
        (place.work / "examples").symlink_to(place.root / "examples")
        (place.work / "build").symlink_to(os.path.dirname(place.girsanov))
        self.python = python()
        if self.python:
            (place.path / "bin" / "python3").symlink_to(self.python)

    def program(self, words, text=None):
        done = subprocess.run(
            words, cwd=self.place.work, env=self.place.environment, text=True,
            input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=600, check=False)
        return done.stdout if done.returncode else ""

    def file(self, block):
        """The block as the file that its first line names."""
        name = re.match(r"# (\w+\.%s)\b" % block.kind[:3].replace("pyt", "py"),
                        block.body)
        if name:
            (self.place.work / name.group(1)).write_text(block.body)
        return name

    def console(self, block):
        head, steps = transcript.parse(block.body.splitlines())
        wrong = transcript.run(steps, self.place, SLACK)
        if wrong:
            lines = transcript.render(head, steps, mask=str)
            block.body = "\n".join(lines) + "\n"
        return wrong

    def sh(self, block):
        text = block.body
        for long, short in QUICK:
            text = re.sub(long, short, text)
        return self.program(["sh", "-eu"], text)

    def sde(self, block):
        self.file(block)
        (self.place.work / "block.sde").write_text(block.body)
        return self.program(["girsanov", "check", "block.sde"])

    def python_(self, block):
        if ">>>" in block.body:
            return "" if self.path.name == "PYTHON.md" else \
                "sessions with >>> are those of PYTHON.md"
        ast.parse(block.body)
        if self.file(block):
            return ""
        names = re.findall(r"^(?:import|from) (.*?)(?: import.*)?$", block.body,
                           re.M)
        modules = {n.split()[0].partition(".")[0]
                   for name in names for n in name.split(",")}
        test = "import " + ", ".join(sorted(modules or {"sys"}))
        if not self.python or self.program(["python3", "-c", test]):
            return ""
        return self.program(["python3", "-"], block.body)

    def r(self, block):
        modules = re.findall(r"library\((\w+)\)|(\w+)::", block.body)
        test = "".join("library(%s);" % (a or b) for a, b in modules)
        if not shutil.which("Rscript") or self.program(["Rscript", "-e", test]):
            return ""
        (self.place.work / "block.R").write_text(block.body)
        return self.program(["Rscript", "block.R"])

    def c(self, block):
        files = (self.place.root / "examples").glob("*.c")
        return "" if any(block.body in f.read_text() for f in files) else \
            "no file of examples/ has this code"

    def cmake(self, block):
        known = (self.place.root / "tests" / "install" /
                 "CMakeLists.txt").read_text()
        return "".join("tests/install has no %s; " % word for word in
                       re.findall(r"^\w+|COMPONENTS \w+", block.body, re.M)
                       if word not in known)

    def text(self, block):
        found = [line for line in block.body.splitlines()
                 if A_COMMAND.match(line)]
        return "" if not found else (
            "no test runs '%s': make it a console or sh block, or mark it "
            "'sh shown'" % found[0].strip())

    def shown(self, block):
        if block.kind == "sh":
            return "\n".join(self.words.lines(block.body))
        if block.kind == "python":
            ast.parse(block.body)
        return "" if block.kind in ("python", "r") else \
            "only sh, python and r can be 'shown'"

    KINDS = {"console": console, "sh": sh, "sde": sde, "python": python_,
             "r": r, "c": c, "cmake": cmake, "text": text, "": text}

    def block(self, block):
        if block.mark == "shown":
            return self.shown(block)
        if block.mark or block.kind not in self.KINDS:
            return "blocks of kind '%s %s' are not known" % (block.kind,
                                                             block.mark)
        return self.KINDS[block.kind](self, block)

    def prose(self, text):
        for line in text.splitlines():
            if line.startswith("    ") and A_COMMAND.match(line):
                yield ("no test runs '%s': make it a block of a kind that is "
                       "run, or 'shown'" % line.strip())
        for span in re.findall(r"`([^`]+)`", text):
            yield from self.words.span(span)


def look(page, path, write=False):
    """What is wrong with a page, or ''."""
    texts, blocks = cut(path.read_text())
    wrong = []
    for block in blocks:
        before = block.body
        try:
            said = page.block(block)
        except (SyntaxError, subprocess.TimeoutExpired) as error:
            said = str(error)
        if said:
            wrong.append("%s:%d:\n%s" % (path.name, block.line, said))
        if write and block.body != before:
            text = path.read_text()
            path.write_text(text.replace("```console\n" + before,
                                         "```console\n" + block.body, 1))
    wrong += ["%s: %s" % (path.name, w) for t in texts for w in page.prose(t)]
    return "\n".join(wrong)


def run(path, place, options):
    """The same; --write puts in what is said now, --keep keeps pictures."""
    wrong = look(Run(path, place), path, options.write)
    for picture in place.work.glob("*.svg") if options.keep else ():
        shutil.copy(picture, options.keep)
    return wrong

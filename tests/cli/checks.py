# SPDX-License-Identifier: MIT
"""Checks of the command that no transcript can hold. Each takes a place (see
run) and returns what is wrong, or an empty text."""
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from html.parser import HTMLParser

import pages

OU = "state x\nparam a = 1 > 0, s = 1 > 0\ndx = -a*x*dt + s*dW\n"


def girsanov(place, *words, **more):
    """Timeouts end what hangs; a busy machine is no failure."""
    return subprocess.run([place.girsanov, *map(str, words)], cwd=place.work,
                          env=place.environment,
                          **{"stdin": subprocess.DEVNULL,
                             "stdout": subprocess.PIPE,
                             "stderr": subprocess.PIPE, "timeout": 600, **more})


def complaint(done, code=1):
    """Why this is not one message, an exit code and nothing else, or ''."""
    err = done.stderr.decode(errors="replace").splitlines()
    if done.returncode != code:
        return "exit code %d instead of %d\n%s" % (
            done.returncode, code, "\n".join(err))
    if done.stdout:
        return "there is something on standard output"
    if not err or not err[0].startswith("girsanov: "):
        return "the message is %r" % err
    # A model's line and its caret stand below the sentence.
    if any(not line.startswith("    ") for line in err[1:]):
        return "there is more than one message: %r" % err
    return ""


def gather(wrong):
    return "\n".join("%s: %s" % w for w in wrong if w[1])


def keeps_file(place, *words, **more):
    """The complaint of a run with -o, and whether it left the old file."""
    kept = place.work / "kept.csv"
    kept.write_text("precious\n")
    before = sorted(os.listdir(place.work))
    wrong = complaint(girsanov(place, *words, "-o", kept, **more))
    if kept.read_text() != "precious\n":
        wrong += "; the old file is lost"
    if sorted(os.listdir(place.work)) != before:
        wrong += "; there are new files"
    return wrong


# --- Broken input ----------------------------------------------------------

def model_for(path, word):
    """A model that reads the columns x, and y where the file has it."""
    names = ["x"]
    if b"y" in path.read_bytes().split(b"\n")[0]:
        names.append("y")
    lines = [word + " " + ", ".join(names)]
    if word == "input":
        lines += ["state z", "dz = dW"]
    else:
        lines += ["d%s = dW" % name for name in names]
    return "\n".join(lines) + "\n"


def csv__broken_files_give_one_message(place):
    wrong, model = [], place.work / "m.sde"
    files = sorted((place.root / "tests" / "data" / "broken").iterdir())
    for path in files:
        model.write_text(model_for(path, "state"))
        for verb in (["loglik", "--json"], ["check"]):
            done = girsanov(place, *verb, model, path)
            wrong.append((path.name, complaint(done)))
        model.write_text(model_for(path, "input"))
        wrong.append((path.name, keeps_file(
            place, "simulate", model, "--inputs", path, "--times", "0:1:3")))
    return gather(wrong) or ("" if files else "there are no files")


def sde__broken_models_give_one_message(place):
    """The models of tests/lang/broken: '==== NAME', the text, '----', and the
    message."""
    wrong = []
    folder = place.root / "tests" / "lang" / "broken"
    for topic in sorted(folder.glob("*.txt")):
        for entry in topic.read_bytes().split(b"==== ")[1:]:
            name, _, rest = entry.partition(b"\n")
            path = place.work / (name.decode() + ".sde")
            path.write_bytes(rest.partition(b"----\n")[0])
            wrong.append((path.name, complaint(girsanov(place, "check", path))))
            wrong.append((path.name, keeps_file(place, "simulate", path)))
    return gather(wrong) or ("" if wrong else "there are no models")


def laws__are_as_the_page_says(place):
    """The laws and their arguments, as the messages have them from the rows,
    are those of the page's table, and no others are there."""
    page = (place.root / "docs" / "LANGUAGE.md").read_text()
    table = page[page.index("| law | arguments | values |"):].split("\n\n")[0]
    said = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    model, wrong = place.work / "m.sde", []

    def message(call):
        model.write_text("state x\ndx = dW\nobs y ~ %s\n" % call)
        return girsanov(place, "check", model).stderr.decode()
    laws = re.search("the laws are (.*)", message("qqqqq(x)")).group(1).split()
    if [re.match(" `(\\w+)\\(", law).group(1) for law, _ in said] != laws:
        wrong.append(("laws", "the page has others than %s" % laws))
    for law, (call, arguments) in zip(laws, said):
        names = re.search("takes \\d+ arguments? \\((.*?)\\)",
                          message("%s(x, x, x, x, x)" % law)).group(1)
        if not arguments.strip().startswith(names):
            wrong.append((law, "%s on the page, not %s" % (arguments, names)))
        if call.count(",") != names.count(","):
            wrong.append((law, "the page's call has other arguments"))
    return gather(wrong)


def functions__are_on_the_page(place):
    """Every function of the language is in the page's table, and only those."""
    page = (place.root / "docs" / "LANGUAGE.md").read_text()
    table = page[page.index("| function | |"):].split("\n\n")[0]
    cells = " ".join(line.split("|")[1] for line in table.splitlines()[2:])
    said = re.findall("`(\\w+)\\(", cells)
    model = place.work / "m.sde"
    model.write_text("state x\ndx = qqqqq(x)*dt + dW\n")
    message = girsanov(place, "check", model).stderr.decode()
    known = re.search("the functions are (.*)", message).group(1).split()
    return gather([(name, "is not on both sides")
                   for name in sorted(set(said) ^ set(known))])


def simulate__keeps_the_old_file_on_a_full_disk(place):
    """A limit on the size of files stands for the full disk. The thread
    sanitizer starts with a file of its own, of half a megabyte."""
    model, most = place.work / "m.sde", 1 << 20
    model.write_text(OU)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return keeps_file(place, "simulate", model, "--times", "0:1:50000",
                      "--step", 1, preexec_fn=limit, restore_signals=False)


def simulate__keeps_the_old_file_in_a_read_only_folder(place):
    """Root may write anywhere, so root tests this as nobody."""
    folder = place.work / "locked"
    folder.mkdir()
    model, kept = folder / "m.sde", folder / "kept.csv"
    model.write_text(OU)
    kept.write_text("precious\n")
    folder.chmod(0o555)
    who = {} if os.getuid() else {"user": 65534}
    try:
        if girsanov(place, "--version", **who).returncode:
            return ""
    except OSError:
        return ""
    wrong = [("old", complaint(girsanov(
        place, "simulate", model, "-o", kept, **who)))]
    wrong.append(("new", complaint(girsanov(
        place, "simulate", model, "-o", folder / "new.csv", **who))))
    if sorted(os.listdir(folder)) != ["kept.csv", "m.sde"]:
        wrong.append(("folder", "has new files"))
    if kept.read_text() != "precious\n":
        wrong.append(("old", "is lost"))
    folder.chmod(0o755)
    return gather(wrong)


# --- Output ----------------------------------------------------------------

def stdout__full_device_is_an_error(place):
    if not os.path.exists("/dev/full"):
        return ""
    model, data = place.work / "m.sde", place.work / "d.csv"
    model.write_text(OU)
    data.write_text("time,x\n0,1\n1,0.5\n")
    wrong = []
    for words in (["--help"], ["--version"], ["help", "loglik"],
                  ["check", "--help"], ["check", model],
                  ["check", model, data, "--json"], ["loglik", model, data],
                  ["loglik", model, data, "--json"], ["simulate", model],
                  ["diagnose", model, data],
                  ["diagnose", model, data, "--paper", "--steps", 2,
                   "--paths", 4, "--strict"],
                  ["simulate", model, "--times", "0:1:100000"],
                  ["simulate", model, "--json", "-o", "new.csv"],
                  ["field", model, data],
                  ["field", model, "--grid", "x=0:1:100000"],
                  ["compare", model, model, data]):
        with open("/dev/full", "wb") as full:
            done = girsanov(place, *words, stdout=full)
        wrong.append((" ".join(map(str, words)), complaint(done)))
    for words in (["simulate", model], ["field", model, data]):
        done = girsanov(place, *words, "-o", "/dev/full")
        wrong.append((words[0] + " -o /dev/full", complaint(done)))
    return gather(wrong)


def loglik__json_is_the_same_on_any_number_of_threads(place):
    model, data = place.work / "m.sde", place.work / "d.csv"
    model.write_text("state x, y\nparam a = 1, s = 0.5 > 0\n"
                     "net f(x, y) -> 2 : 16 16 silu\n"
                     "dx = (f[1] - a*x)*dt + s*dW\n"
                     "dy = (f[2] - a*y)*dt + s*dW\n")
    made = girsanov(place, "simulate", model, "--tracks", 3, "--times",
                    "0:2:21", "--x0", "normal", "-o", data, "-q")
    if made.returncode:
        return made.stderr.decode()
    wrong = []
    for words in ([], ["--joint"], ["--gradient"],
                  ["--gradient", "--paper", "--paths", "33", "--steps", "7"],
                  ["--gradient", "--reference", "linear", "--form", "ito",
                   "--richardson", "--delta"],
                  ["--gradient", "--reference", "lna", "--form", "midpoint"],
                  ["--gradient", "--form", "stratonovich", "--random", "iid"],
                  ["--gradient", "--paths", "2048", "--tolerance", "0.01"]):
        texts = set()
        for threads in (1, 2, 5):
            done = girsanov(place, "loglik", model, data, "--json",
                            "--threads", threads, *words)
            if done.returncode:
                return done.stderr.decode()
            texts.add(re.sub(rb'"seconds": [^,]*', b"", done.stdout))
        if len(texts) > 1:
            wrong.append((" ".join(words), "the output differs"))
    return gather(wrong)


def loglik__over_functions_has_a_closed_form(place):
    """A drift h(u), u held, has normal increments, whatever is known of h."""
    model, n = place.work / "m.sde", 400
    model.write_text("state x\ninput u hold\nparam s = 0.4 > 0\n"
                     "gp h(u) -> 1 : grid 4 over [-1, 1] rbf\n"
                     "dx = h*dt + s*dW\n")
    x = [0.0]
    for i in range(12):
        x.append(x[-1] + 0.2 * math.sin(2.0 * i) + 0.3 * math.cos(7.0 * i))
    for name, text in (
            ("d.csv", "time,x,u\n" + "".join(
                "%g,%.9g,%g\n" % (0.25 * i, x[i], math.sin(1.3 * i))
                for i in range(len(x)))),
            ("gap.csv", "time,x,u\n0,0,1\n2,0.7,1\n"),
            ("at.csv", "x,u\n0,1\n")):
        (place.work / name).write_text(text)
    fit = girsanov(place, "fit", model, "d.csv", "-o", "m.fit", "-q", "--fix",
                   "s", "--fix", "h.amplitude=1", "--fix", "h.length=1")
    at = girsanov(place, "field", "m.fit", "--at", "at.csv")
    if fit.returncode or at.returncode:
        return (fit.stderr + at.stderr).decode()
    names, numbers = at.stdout.decode().split()
    field = dict(zip(names.split(","), map(float, numbers.split(","))))
    said = json.loads(girsanov(place, "loglik", "m.fit", "gap.csv", "--json",
                               "--functions", n).stdout)
    a, b = 0.4 ** 2 * 2.0, (2.0 * field["drift_sd_x"]) ** 2

    def normal(variance):
        off = 0.7 - 2.0 * field["drift_x"]
        return -0.5 * (off * off / variance +
                       math.log(2.0 * math.pi * variance))

    square = math.exp(normal(a / 2.0 + b)) / math.sqrt(4.0 * math.pi * a)
    error = math.sqrt((square / math.exp(2.0 * normal(a + b)) - 1.0) / n)
    wrong = [(name, "%g instead of %g" % (said[name], value))
             for name, value, off in (
                 ("drawn", n, 0), ("loglik", normal(a), 1e-6),
                 ("predictive", normal(a + b), 4.0 * error),
                 ("predictive_stderr", error, 0.3 * error))
             if abs(said[name] - value) > off]
    if abs(normal(a + b) - normal(a)) < 5.0 * error:
        wrong.append(("m.sde", "its functions are too well known"))
    return gather(wrong)


def json__has_the_fields_that_the_page_promises(place):
    model, data = place.work / "m.sde", place.work / "d.csv"
    model.write_text(OU)
    data.write_text("time,x\n0,1\n1,0.5\n")
    page = (place.root / "docs" / "COMMAND.md").read_text()
    wrong = []
    for words in (["check", "--gradient"], ["loglik", "--gradient",
                                            "--tolerance", 1],
                  ["diagnose", "--tolerance", 1]):
        done = girsanov(place, words[0], model, data, "--json", *words[1:])
        given = set(json.loads(done.stdout))
        part = page[page.index("## " + words[0]):].split("\n## ")[0]
        part = part[part.index("With `--json`"):]
        listed = " ".join(re.findall(r"`([^`]*)`", part, re.S)).split()
        promised = {word for word in listed if word.isidentifier()}
        if words[0] == "diagnose":
            given |= set(json.loads(done.stdout)["gaps"][0])
            residuals = json.loads(done.stdout)["residuals"]
            given |= set(residuals) | set(residuals["columns"]["x"])
            flags = {"ess", "khat", "steps", "modes"}
            promised |= flags
            given |= flags
        promised.discard("null")
        promised.discard("observe")  # with noisy observations alone
        promised -= {"drawn", "predictive", "predictive_stderr"}  # of a gp
        if given != promised:
            wrong.append((words[0], "only one side has " + ", ".join(
                sorted(given ^ promised))))
    return gather(wrong)


def json__has_the_list_of_the_page(place):
    """Of verbs whose fields are one list, the first of their section."""
    model, data, fit = (place.work / n for n in ("m.sde", "d.csv", "m.fit"))
    model.write_text(OU)
    girsanov(place, "simulate", model, "--times", "0:5:21", "-o", data, "-q")
    page = (place.root / "docs" / "COMMAND.md").read_text()
    wrong = []
    for words in (["fit", model, data, "-o", fit],
                  ["profile", model, data, "--param", "a", "--range", "0.5:2",
                   "--points", 3],
                  ["compare", model, model, data],
                  ["predict", model, data]):
        done = girsanov(place, *words, "--json", "-q")
        if done.returncode:
            wrong.append((words[0], done.stderr.decode()))
            continue
        part = page[page.index("## " + words[0]):].split("\n## ")[0]
        part = part[part.index("With `--json`:") + len("With `--json`:"):]
        promised = set(re.search(r"`([^`]*)`", part).group(1).split())
        other = promised ^ set(json.loads(done.stdout))
        if other:
            wrong.append((words[0], "only one side has " + ", ".join(
                sorted(other))))
    return gather(wrong)


# --- Learning --------------------------------------------------------------

NET = ("state x\nparam s = 0.5 > 0\nnet f(x) -> 1 : 8 tanh\n"
       "dx = f*dt + s*dW\n")


def untimed(path):
    """The rows of a trace without their seconds."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    return [row[:2] + row[3:] for row in rows]


def fit__interrupted_goes_on_to_the_same_fit(place):
    model, data = place.work / "m.sde", place.work / "d.csv"
    trace = place.work / "t.csv"
    model.write_text(NET)
    girsanov(place, "simulate", model, "--times", "0:10:41", "-o", data, "-q")
    words = ["fit", model, data, "--json", "--iterations", 800, "--patience", 0,
             "--paths", 8, "--steps", 8, "--threads", 1, "-q"]
    whole = girsanov(place, *words, "-o", "whole.fit", "--trace", "whole.csv")
    if whole.returncode:
        return whole.stderr.decode()
    words += ["-o", "parts.fit", "--trace", trace]
    run = subprocess.Popen([place.girsanov, *map(str, words)], cwd=place.work,
                           env=place.environment, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    end = time.monotonic() + 30
    while time.monotonic() < end and (not trace.exists() or
                                      len(untimed(trace)) < 2):
        time.sleep(0.01)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=600)
    if run.returncode != 130 or b"continue with --resume" not in err:
        return "exit code %d: %s" % (run.returncode, err.decode())
    # A row that was cut off, as by a crash.
    with open(trace, "a") as out:
        out.write("9999,1,")
    rest = girsanov(place, *words, "--resume")
    if rest.returncode:
        return rest.stderr.decode()
    a, b = json.loads(whole.stdout), json.loads(rest.stdout)
    wrong = [(key, "differs") for key in ("params", "loglik", "iterations")
             if a[key] != b[key]]
    if untimed(trace) != untimed(place.work / "whole.csv"):
        wrong.append(("trace", "differs"))
    return gather(wrong)


def interrupted(place, words, number, seconds):
    """A command that gets a signal after so many seconds, or (None) as soon as
    it writes a file: its exit code, what it said, and the files that it left
    behind."""
    before = set(place.work.iterdir())
    run = subprocess.Popen([place.girsanov, *map(str, words)], cwd=place.work,
                           env=place.environment, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    while seconds is None and run.poll() is None and \
            set(place.work.iterdir()) == before:
        time.sleep(0.001)
    time.sleep(seconds or 0)
    run.send_signal(number)
    _, err = run.communicate(timeout=600)
    return run.returncode, err.decode(), set(place.work.iterdir()) - before


# Verbs that end before a signal would come.
SHORT = {"summary", "field", "new"}


def long_commands(place, model, data):
    """A command of every other verb; what it writes is in out.*."""
    library, fit = place.work / "lib.sde", place.work / "m.fit"
    library.write_text("state y\nterms f(y) -> 1 : poly 3\n"
                       "param s = 1 > 0\nobs x ~ normal(y, 0.1)\n"
                       "init y ~ normal(0, 1)\ndy = f*dt + s*dW\n")
    rows = data.read_text().splitlines()
    few = place.work / "few.csv"
    few.write_text("\n".join(rows[:201]) + "\n")
    girsanov(place, "fit", model, few, "-o", fit, "-q", "--paths", 8)
    out = place.work / "out.file"
    return {
        "fit": ["fit", model, data, "-o", out, "-q", "--paths", 512],
        "loglik": ["loglik", model, data, "--paths", 65536],
        "simulate": ["simulate", model, "--times", "0:4000:400001", "--step",
                     0.01, "--scheme", "euler", "-o", out],
        "paths": ["paths", model, data, "--paths", 65536, "-o", out],
        "diagnose": ["diagnose", model, data, "--paths", 65536],
        "check": ["check", model, data, "--paths", 65536],
        "select": ["select", library, data, "-o", out, "-q"],
        "profile": ["profile", fit, data, "--param", "a", "--paths", 65536,
                    "-o", out],
        "compare": ["compare", model, fit, data, "--paths", 65536],
        "predict": ["predict", fit, data, "--draws", 1000000, "-o", out],
        "report": ["report", fit, data, "--paths", 65536, "-o", out],
        "show": ["show", fit, data, "--paths", 65536],
        "look": ["look", data, "-o", out],
        "physics": ["physics", fit, few, "--draws", 100000, "-o", out],
        "gradvar": ["gradvar", model, few, "--repeats", 10000, "-o", out],
    }


def signals__end_every_verb_without_a_part_of_a_file(place):
    """Wherever it is: a fit saves what it has, the others leave nothing; fit,
    gradvar and select say what there is."""
    model, data = place.work / "m.sde", place.work / "d.csv"
    model.write_text("state x\nparam a = 1, s = 1 > 0\n"
                     "dx = a*(x - x^3)*dt + s*dW\n")
    girsanov(place, "simulate", model, "--times", "0:500:5001", "-o", data,
             "-q")
    verbs = long_commands(place, model, data)
    wrong = []
    for verb, words in verbs.items():
        writes = (None,) if verb == "simulate" else ()
        for number in (signal.SIGINT, signal.SIGTERM):
            for seconds in (0.02, 0.3, *writes):
                code, err, left = interrupted(place, words, number, seconds)
                asked = verb in ("fit", "gradvar", "select")
                wanted = (130, -number) if asked else (-number,)
                if code not in wanted and code != 0:
                    wrong.append((verb, "%s ends with %d: %s" % (
                        number.name, code, err)))
                if left and (code, verb) != (130, "fit") and code != 0:
                    wrong.append((verb, "leaves %s" % sorted(left)))
                if verb == "fit" and code == 130 and not left:
                    wrong.append((verb, "does not save: " + err))
                for path in left:
                    path.unlink()
    every = re.findall(r"^  (\w+) ", girsanov(
        place, "--help").stdout.decode(), re.M)
    if set(every) - SHORT != set(verbs):
        wrong.append(("table", "is not of %s" % every))
    return gather(wrong)


def fit__killed_leaves_a_whole_checkpoint(place):
    """Killed again and again while it writes one checkpoint after the other,
    a fit comes to the same end as one that was left alone."""
    model, data = place.work / "m.sde", place.work / "d.csv"
    check = place.work / "c.fit"
    model.write_text(NET)
    girsanov(place, "simulate", model, "--times", "0:10:41", "-o", data, "-q")
    words = ["fit", model, data, "--json", "--iterations", 600, "--patience", 0,
             "--paths", 8, "--steps", 4, "--threads", 1, "-q"]
    whole = girsanov(place, *words, "-o", "whole.fit")
    if whole.returncode:
        return whole.stderr.decode()
    words += ["-o", "parts.fit", "--checkpoint", check, "--every", 1e-9,
              "--resume"]
    kills = 0
    for attempt in range(12):
        run = subprocess.Popen([place.girsanov, *map(str, words)],
                               cwd=place.work, env=place.environment,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        time.sleep(0.02 + 0.013 * attempt)
        kills += run.poll() is None
        run.kill()
        run.wait()
        if not check.exists():
            continue
        seen = girsanov(place, "summary", check, "--json")
        if seen.returncode:
            return "after kill %d: %s" % (attempt, seen.stderr.decode())
    if not kills or not check.exists():
        return "nothing was killed while it wrote"
    rest = girsanov(place, *words)
    if rest.returncode:
        return rest.stderr.decode()
    left = [name for name in os.listdir(place.work) if name.endswith(".tmp")]
    if left:
        return "left: %s" % left
    a, b = json.loads(whole.stdout), json.loads(rest.stdout)
    return gather([(key, "differs") for key in ("params", "loglik")
                   if a[key] != b[key]])


# --- Documents -------------------------------------------------------------

def blocks(path, kind):
    """(line, text) of the fenced blocks of a kind."""
    pattern = r"^```%s\n(.*?)^```$" % kind
    text = path.read_text()
    for block in re.finditer(pattern, text, re.M | re.S):
        yield text.count("\n", 0, block.start()) + 2, block.group(1)


def language__what_is_not_supported_is_said(place):
    """Each line of the ```refused blocks, in a model of its own."""
    page = place.root / "docs" / "LANGUAGE.md"
    wrong, model = [], place.work / "m.sde"
    for line, text in blocks(page, "refused"):
        model.write_text(text)
        done = girsanov(place, "check", model)
        said = complaint(done)
        if not said and b"not supported yet" not in done.stderr:
            said = done.stderr.decode()
        wrong.append(("%s:%d" % (page.name, line), said))
    return gather(wrong)


def language__lists_every_function(place):
    source = place.root / "src" / "lang" / "evaluate.c"
    names = re.findall(r'^    \{"(\w+)", \d, OP_', source.read_text(), re.M)
    page = (place.root / "docs" / "LANGUAGE.md").read_text()
    missing = [n for n in names if "`%s(" % n not in page]
    if not names:
        return "no functions found in %s" % source
    return "missing: " + ", ".join(missing) if missing else ""


def command__page_has_every_verb(place):
    usage = girsanov(place, "--help").stdout.decode()
    page = (place.root / "docs" / "COMMAND.md").read_text()
    verbs = re.findall(r"^  (\w+) ", usage, re.M)
    missing = [v for v in verbs if "$ girsanov %s --help\n" % v not in page]
    if not verbs:
        return "no verbs in the usage"
    return "missing: " + ", ".join(missing) if missing else ""


def verbs(place):
    offered = girsanov(place, "--complete", "").stdout.decode().split()
    return [word for word in offered if word.isalpha() and word != "help"]


def manual__has_what_help_prints(place):
    """Pages for man(1): groff has no complaint, and a reader finds each line
    that --help sets in, whatever the spaces."""
    if not shutil.which("groff"):
        return ""
    wrong = []
    for words in [[]] + [[verb] for verb in verbs(place)]:
        page = girsanov(place, "--man", *words).stdout
        done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou"],
                              input=page, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        wrong.append((str(words), done.stderr.decode()))
        text = re.sub(r"\s|-\n", "", done.stdout.decode())
        for line in girsanov(place, *words, "--help").stdout.decode().split("\n"):
            for column in re.split(r"  +", line) if line[:2] == "  " else []:
                if re.sub(r"\s|-$", "", column) not in text:
                    wrong.append((str(words), "%r is not there" % column))
    return gather(wrong)


# What the examples of --help name, by the file's name; others are "lorenz",
# which is a tame one here.
STAND_INS = {
    "lorenz": "state x, y, z\nparam s = 1, r = 0.5, b = 1, q = 0.5 > 0\n"
              "dx = s*(y - x)*dt + q*dW\ndy = (x*(r - z) - y)*dt + q*dW\n"
              "dz = (x*y - b*z)*dt + q*dW\n",
    "linear": "state x, y, z\nparam q = 1 > 0\n"
              "dx = -x*dt + q*dW\ndy = -y*dt + q*dW\ndz = -z*dt + q*dW\n",
    "net": "state x, y, z\nparam q = 1 > 0\n"
           "net f(x, y, z) -> 3 : 4 silu\n"
           "dx = f[1]*dt + q*dW\ndy = f[2]*dt + q*dW\ndz = f[3]*dt + q*dW\n",
    "library": "state x, y\nparam q = 1 > 0\n"
               "terms f(x, y) -> 2 : 1, x, y\n"
               "dx = f[1]*dt + q*dW\ndy = f[2]*dt + q*dW\n",
    "ou": "state x\nparam k = 1 > 0, s = 1 > 0\ndx = -k*x*dt + s*dW\n",
    "cell": "state x, y\nparam a = 1, s = 1 > 0\n"
            "dx = a*y*dt + s*dW\ndy = -x*dt + s*dW\n",
    "pair": "state x[2]\nparam A[2,2] = 0, s = 1 > 0\n"
            "dx = A @ x*dt + s*dW\n",
}
DATA = "stand-in.csv"


def make_stand_in(place, name):
    """The model, fit or data that an example reads; what went wrong, or ''."""
    stem, ending = name.split(".", 1)
    target, data = place.work / name, place.work / DATA
    if target.exists():
        return ""
    if ending == "csv":
        target.write_bytes(data.read_bytes())
    if ending == "sde":
        target.write_text(STAND_INS.get(stem, STAND_INS["lorenz"]))
    if ending == "fit":
        make_stand_in(place, stem + ".sde")
        return girsanov(place, "fit", stem + ".sde", DATA, "-o", name, "-q",
                        "--iterations", 20).stderr.decode()
    return ""


def make_data(place):
    """The columns of all stand-ins, x1 and x2 among them."""
    make_stand_in(place, "lorenz.sde")
    rows = girsanov(place, "simulate", "lorenz.sde", "--x0", "normal",
                    "--times", "0:10:41").stdout.decode().split()
    with open(place.work / DATA, "w") as out:
        for i, row in enumerate(rows):
            x, y = row.split(",")[-3:-1]
            out.write("%s,%s,%s\n" % (row, x + "1" * (not i),
                                      "x2" if not i else y))


def help__examples_run(place):
    """Every example of every verb's --help, as it stands, with stand-ins of
    the files that it reads."""
    wrong = []
    make_data(place)
    for verb in verbs(place):
        text = girsanov(place, verb, "--help").stdout.decode()
        examples = re.findall(r"^  (girsanov .*)$",
                              text.partition("\nExamples:\n")[2], re.M)
        if not examples:
            wrong.append((verb, "there is no example"))
        for example in examples:
            read = re.sub(r"(-o|--trace|--plot) \S+", "", example)
            for name in re.findall(r"\S+\.(?:sde|fit|csv)\b", read):
                wrong.append((name, make_stand_in(place, name)))
            folder = place.path / "example"
            shutil.copytree(place.work, folder)
            done = subprocess.run(["sh", "-c", example], cwd=folder,
                                  env=place.environment, timeout=600,
                                  stdin=subprocess.DEVNULL, check=False,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            meant = (0, 3) if "--strict" in example else (0,)
            if done.returncode not in meant:
                wrong.append((example, done.stderr.decode()))
            shutil.rmtree(folder)
    return gather(wrong)


def examples__models_parse(place):
    return gather((path.name, girsanov(place, "check", path).stderr.decode())
                  for path in sorted((place.root / "examples").rglob("*.sde")))


# --- The book ----------------------------------------------------------------

def strings(path):
    """The texts of a source, as they stand there, pieces put together."""
    text = re.sub(r'"\s*\n\s*"', "", path.read_text())
    return re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)


def readable(word):
    """With … where a number or a name is put in."""
    word = re.sub(r"%[-+#0 .*\d]*[hlzjt]*[a-zA-Z]", "…",
                  word.replace("\\n", " "))
    return re.sub(r"\s+", " ", word)


def literals(place):
    for folder in "src", "cli":
        for path in sorted((place.root / folder).rglob("*.[ch]")):
            yield from map(readable, strings(path))


def troubles(place):
    """The messages that TROUBLESHOOTING.md has an entry for."""
    page = (place.root / "docs" / "TROUBLESHOOTING.md").read_text()
    return re.findall(r"^### `(.*)`$", page, re.M)


def troubleshooting__quotes_messages_of_the_sources(place):
    quoted = troubles(place)
    said = list(literals(place))
    wrong = [(q, "is said nowhere in src/ and cli/") for q in quoted
             if not any(q in text for text in said)]
    return gather(wrong) or ("" if len(quoted) > 30 else "it has few messages")


def warnings_of_the_sources(place):
    """All that can stand behind 'warning:', as the sources have it: of the
    command by this word, of fits by the end of their line."""
    for folder, mark in ("cli", r"^warning: (?!%\.)"), ("src", r".{30}\\n$"):
        for path in sorted((place.root / folder).rglob("*.c")):
            # Lines, but of 'check' and 'look'.
            if path.name.startswith("describe") or path.parent.name == "look":
                continue
            for word in strings(path):
                if re.search(mark, word):
                    yield readable(word)


def troubleshooting__has_every_warning(place):
    quoted = troubles(place)
    said = list(warnings_of_the_sources(place))
    wrong = [(text, "is not in TROUBLESHOOTING.md") for text in said
             if not any(q in text for q in quoted)]
    return gather(wrong) or ("" if len(said) > 20 else "few warnings found")


def anchor(heading):
    """As GitHub makes them."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def docs__links_lead_somewhere(place):
    wrong = []
    pages = [place.root / "README.md", *(place.root / "docs").glob("*.md"),
             *(place.root / "examples").rglob("*.md")]
    for page in pages:
        links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)",
                           page.read_text())
        for target, part in links:
            path = page.parent / target if target else page
            if not path.exists():
                wrong.append((page.name, "there is no " + target))
            elif part and part not in map(anchor, re.findall(
                    r"^#+ (.*)$", path.read_text(), re.M)):
                wrong.append((page.name, "%s has no part %s" % (target, part)))
    return gather(wrong)


# Each of them is a mistake, by what is said of it.
UNTESTED = {
    "```\ngirsanov fit m.sde d.csv -o m.fit\n```\n": "no test runs",
    "```text\nmake demo\n```\n": "no test runs",
    "\n    girsanov check m.sde\n": "no test runs",
    "```sh shown\ngirsanov fit m.sde d.csv --otput m.fit\n```\n":
        "no option --otput",
    "```sh shown\nmpirun -n 2 girsanov fti m.sde\n```\n": "no verb 'fti'",
    "```sh shown\nsudo make instal\n```\n": "no target 'instal'",
    "```sh shown\nexperiments/nowhere/run\n```\n": "no program",
    "```python shown\nprint(1\n```\n": "was never closed",
    "```python\nraise ValueError('raised')\n```\n": "raised",
    "```sh\ngirsanov check nothing.sde\n```\n": "cannot open the model",
    "```sde\nstate x\n```\n": "block.sde",
    "```shell\ntrue\n```\n": "are not known",
    "```console\n$ echo a\nb\n```\n": "+ a",
    "```c\nint nowhere;\n```\n": "no file of examples/",
    "The command `girsanov fti x` is wrong.\n": "no verb 'fti'",
    "The option `--otput FILE` is wrong.\n": "no verb has it",
}


def pages__what_no_test_runs_is_an_error(place):
    page, wrong = place.work / "PAGE.md", []
    runner = pages.Run(page, place)
    for text, message in UNTESTED.items():
        page.write_text(text)
        said = pages.look(runner, page)
        if message not in said and not ("raise" in text and
                                        not runner.python):
            wrong.append((repr(text), "gives %r" % said))
    page.write_text("```sh shown\ngirsanov fit m.sde d.csv -o m.fit | head\n"
                    "```\n\n    f(x) = a x\n")
    return gather(wrong + [("a good page", pages.look(runner, page))])


def docs__contents_have_every_page(place):
    contents = (place.root / "docs" / "README.md").read_text()
    return gather((path.name, "is not in docs/README.md")
                  for path in sorted((place.root / "docs").glob("*.md"))
                  if path.name != "README.md"
                  and "(%s)" % path.name not in contents)


def architecture__names_every_file(place):
    """Below the heading of a folder, `name` is the file name.c, or name.h where
    there is no name.c; files with an ending or a folder exist."""
    page = (place.root / "docs" / "ARCHITECTURE.md").read_text()
    parts = re.findall(r"^### `([\w/]+)/`\n(.*?)(?=^#|\Z)", page, re.M | re.S)
    named = ["%s/%s" % (folder, name if "." in name else name + ".c")
             for folder, text in parts
             for name in re.findall(r"`(\w+(?:\.[ch])?)`", text)]
    paths = [path.relative_to(place.root) for top in ("src", "cli")
             for path in sorted((place.root / top).rglob("*.[ch]"))]
    every = {str(path) for path in paths}
    alone = {f for f in every if f[-1] == "c" or f[:-1] + "c" not in every}
    known = every | {path.name for path in paths}
    wrong = [(f, "is not named") for f in sorted(alone - set(named))]
    wrong += [(f, "does not exist") for f in sorted(set(named) - every)]
    wrong += [(f, "is named twice") for f in sorted(set(named))
              if named.count(f) > 1]
    wrong += [(f, "does not exist")
              for f in re.findall(r"`([\w/.]+\.[ch])`", page)
              if f not in known and not (place.root / f).exists()
              and f != "tests/ROOM/test_NAME.c"]
    return gather(wrong)


def architecture__words_are_in_the_code(place):
    """A line with `struct name` or `name()` gives a file that has it, or none."""
    page = (place.root / "docs" / "ARCHITECTURE.md").read_text()
    text = {str(path.relative_to(place.root)): path.read_text()
            for top in ("src", "include")
            for path in (place.root / top).rglob("*.[ch]")}
    wrong = []
    for line in page.splitlines():
        files = re.findall(r"`((?:src|include)/[\w/]+\.[ch])`", line) or text
        for word in re.findall(r"`(struct \w+|\w+(?=\(\)`))", line):
            if not any(re.search(r"\b%s\b" % word, text.get(f, ""))
                       for f in files):
                wrong.append((word, "is not in " + ", ".join(list(files)[:3])))
    return gather(wrong)


# --- The page of report ----------------------------------------------------

class Page(HTMLParser):
    """What a page has: its tags, in balance, its ids, and its text."""

    VOID = {"meta", "br", "link", "img", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.tags, self.text = [], [], [], []
        self.links, self.wrong = [], []
        self.feed(text)
        self.close()
        if self.open:
            self.wrong.append("never closed: %s" % self.open)

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.note(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        self.note(tag, attrs)

    def note(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href", "src"):
                self.links.append(value)
            if name.startswith("on"):
                self.wrong.append("a handler %s" % name)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append("</%s> closes nothing" % tag)

    def handle_data(self, data):
        self.text.append(data)

    def complaints(self, figures):
        wrong = list(self.wrong)
        if len(set(self.ids)) < len(self.ids):
            wrong.append("an id stands twice")
        for link in self.links:
            if link[:1] != "#" or link[1:] not in self.ids:
                wrong.append("a link to nowhere: %s" % link)
        if {"script", "iframe", "object", "b", "i"} & set(self.tags):
            wrong.append("a tag that no page has")
        if self.tags.count("svg") != figures:
            wrong.append("%d figures" % self.tags.count("svg"))
        return "; ".join(wrong)


REPORTS = {
    "formula": ("state x\nparam a = 1 > 0, s = 1 > 0\ndx = -a*x*dt + s*dW\n",
                ["--times", "0:8:60"], []),
    "noisy": ("state x\nparam a = 1 > 0, s = 1 > 0\n"
              "dx = -a*sin(x)*dt + s*dW\n"
              "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1)\n",
              ["--times", "0:8:40"], []),
    "linear": (OU + "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1)\n",
               ["--times", "0:8:40"], []),
    "gp": ("state x\nparam s = 1 > 0\ngp h(x) -> 1 : grid 8 rbf\n"
           "dx = h*dt + s*dW\n", ["--times", "0:8:60"], []),
    "net": ("state x, y\nparam s = 1 > 0\nnet f(x, y) -> 2 : 4 silu\n"
            "dx = f[1]*dt + s*dW1\ndy = f[2]*dt + s*dW2\n",
            ["--times", "0:8:60", "--tracks", 6], ["--iterations", 20]),
    "five": ("state x[5]\nparam s = 1 > 0\ndx = -x*dt + s*dW\n",
             ["--times", "0:8:40"], []),
    "gibbs": (OU, ["--times", "0:8:30"],
              ["--method", "gibbs", "--chains", 2, "--warmup", 20, "--draws",
               30]),
}


def report__is_one_sound_page(place):
    wrong = []
    for name, (text, times, how) in REPORTS.items():
        model = place.work / (name + ".sde")
        model.write_text(text)
        data, fit = name + ".csv", name + ".fit"
        for words in (["simulate", model, "-o", data, *times],
                      ["fit", model, data, "-o", fit, *how],
                      ["report", fit, data, "-o", name + ".html"]):
            done = girsanov(place, *words, "-q")
            if done.returncode:
                wrong.append((name, done.stderr.decode()))
        page = (place.work / (name + ".html")).read_text()
        # An exact likelihood has no weights to show.
        figures = 6 if name == "linear" else 7
        wrong.append((name, Page(page).complaints(figures)))
        if len(page) > 2e6:
            wrong.append((name, "%d bytes" % len(page)))
    return gather(wrong)


EVIL = "<script>alert(1)</script>&\"'`id`</svg>"


def report__takes_no_markup_from_anywhere(place):
    """Labels, columns, names of files and a model's remarks are text."""
    model = place.work / "m.sde"
    model.write_text(OU + "# <script>alert(2)</script> <b>&amp;\n")
    fit, data = place.work / "<i>&'.fit", place.work / "<b>'.csv"
    rows = ['"%s",%g,%g' % (EVIL.replace('"', '""') + label, 0.2 * i, i % 3 - 1)
            for label in "ab" for i in range(20)]
    data.write_text("series,<b>t</b>,x,<img src=x>\n" +
                    "".join(row + ",1\n" for row in rows))
    for words in (["fit", model, data, "-o", fit, "--time", "<b>t</b>"],
                  ["report", fit, data, "-o", "page.html", "--time",
                   "<b>t</b>"]):
        done = girsanov(place, *words, "-q")
        if done.returncode:
            return done.stderr.decode()
    page = Page((place.work / "page.html").read_text())
    text = "".join(page.text)
    missing = [word for word in (EVIL, "# <script>alert(2)</script> <b>&amp;",
                                 "<img src=x>", "'<b>t</b>'")
               if word not in text]
    return page.complaints(7) or "".join("%r is lost; " % w for w in missing)


ALL = [value for name, value in list(globals().items()) if "__" in name[1:-1]
       and callable(value) and not name.startswith("_")]

# Minutes under a sanitizer, which sees the same code in other checks, or in
# test_spec, test_csv and test_loglik_bits without starting a command each time.
LONG = [help__examples_run, report__is_one_sound_page,
        report__takes_no_markup_from_anywhere,
        fit__interrupted_goes_on_to_the_same_fit,
        fit__killed_leaves_a_whole_checkpoint,
        sde__broken_models_give_one_message,
        laws__are_as_the_page_says,
        functions__are_on_the_page,
        csv__broken_files_give_one_message,
        loglik__json_is_the_same_on_any_number_of_threads]

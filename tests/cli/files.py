# SPDX-License-Identifier: MIT
"""Checks of the command's files and streams: what it must not overwrite, what
becomes of a full disk, odd names, closed descriptors and hostile labels."""
import html
import itertools
import json
import os
import re
import resource
import shutil
import signal
import subprocess

from checks import OU, complaint, gather, girsanov

# --- Inputs and outputs ------------------------------------------------------

WRITTEN = {"--output", "--plot", "--residuals", "--trace", "--checkpoint",
           "--samples", "--effects"}
READ = {"--at", "--inputs", "--against", "--resume"}

# The fit's own ways to go on, tried below.
MEANT = {frozenset(("model", "--output")), frozenset(("model", "--checkpoint")),
         frozenset(("--output", "--checkpoint")),
         frozenset(("--output", "--resume")),
         frozenset(("--checkpoint", "--resume"))}


def file_options(place, verb):
    """The options whose value is a FILE, as --help lists them."""
    text = girsanov(place, verb, "--help").stdout.decode()
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)(?: |\[=)FILE", text, re.M)


def verbs_with_files(place):
    """Of every verb whether it has data, and its options of files."""
    for line in girsanov(place, "--help").stdout.decode().splitlines():
        found = re.match(r"  (\w+) ", line)
        if found:
            verb = found.group(1)
            usage = girsanov(place, verb, "--help").stdout.decode()
            yield (verb, "DATA" in usage.split("\n")[0],
                   file_options(place, verb))


def spelled(path, how):
    """Another name of a file."""
    other = path.parent / ("other" + path.suffix)
    if other.is_symlink() or other.exists():
        other.unlink()
    if how == "dot":
        return "./" + path.name
    if how == "path":
        return str(path)
    if how == "through":
        return "../%s/%s" % (path.parent.name, path.name)
    if how == "link":
        other.symlink_to(path.name)
    elif how == "hard":
        os.link(path, other)
    return path.name if how == "same" else other.name


def setting(option, path):
    return ["%s=%s" % (option, path)]


def fresh(place, name, text):
    path = place.work / name
    path.unlink(missing_ok=True)
    path.write_text(text)
    return path


def refuses(place, words, kept):
    """Why the run is not refused at once with all files left as they were."""
    before = {p: p.read_bytes() for p in kept}
    names = sorted(os.listdir(place.work))
    done = girsanov(place, *words)
    wrong = complaint(done)
    said = done.stderr.decode()
    if not wrong and "would overwrite" not in said:
        wrong = said
    if any(p.read_bytes() != before[p] for p in kept):
        wrong += "; a file is lost"
    if sorted(os.listdir(place.work)) != names:
        wrong += "; there are new files"
    return wrong


def files__no_output_overwrites_an_input(place):
    """Every verb, every output, every input, by all ways to name a file."""
    ways = itertools.cycle(["same", "dot", "path", "link", "hard", "through"])
    wrong, seen = [], set()
    for verb, data, options in verbs_with_files(place):
        seen |= set(options)
        ending = {o: ".svg" if o == "--plot" else ".csv" for o in options}
        inputs = ["model"] + ["data"] * data + [o for o in options if o in READ]
        for output in (o for o in options if o in WRITTEN):
            for name in inputs:
                if verb == "fit" and frozenset((name, output)) in MEANT and \
                        name != "model":
                    continue
                path = {"model": fresh(place, "m.sde", OU),
                        "data": fresh(place, "d.csv", "precious")}
                path[name] = fresh(place, "in" + ending[output],
                                   OU if name == "model" else "precious")
                words = [verb, path["model"].name]
                words += [path["data"].name] if data else []
                if name in READ:
                    words += setting(name, path[name].name)
                if verb == "fit" and output != "--output":
                    words += ["-o", "new.fit"]
                words += setting(output, spelled(path[name], next(ways)))
                wrong.append((" ".join(words), refuses(
                    place, words, [path[name]])))
    unknown = seen - READ - WRITTEN
    if unknown or not seen:
        wrong.append(("table", "is not complete: %s" % unknown))
    return gather(wrong)


def files__no_two_outputs_are_one_file(place):
    ways = itertools.cycle(["same", "dot", "path", "link", "through"])
    wrong, tried = [], 0
    for verb, data, options in verbs_with_files(place):
        outputs = [o for o in options if o in WRITTEN]
        for one, other in itertools.combinations(outputs, 2):
            if frozenset((one, other)) in MEANT:
                continue
            model = fresh(place, "m.sde", OU)
            fresh(place, "d.csv", "time,x\n0,1\n1,0\n2,1\n")
            path = place.work / "new.svg"
            words = [verb, model.name] + ["d.csv"] * data
            if verb == "fit" and "--output" not in (one, other):
                words += ["-o", "new.fit"]
            words += setting(one, path.name) + setting(
                other, spelled(path, next(ways)))
            wrong.append((" ".join(words), refuses(place, words, [])))
            tried += 1
    return gather(wrong) or ("" if tried > 5 else "few pairs were tried")


def fit__may_go_on_in_its_own_place(place):
    fresh(place, "m.sde", OU)
    girsanov(place, "simulate", "m.sde", "-o", "d.csv", "--times", "0:5:21")
    wrong = []
    for words in (["m.sde", "d.csv", "-o", "m.fit"],
                  ["m.fit", "d.csv", "-o", "m.fit"],
                  ["m.fit", "d.csv", "-o", "m.fit", "--checkpoint", "m.fit"],
                  ["m.sde", "d.csv", "-o", "m.fit", "--checkpoint", "m.fit",
                   "--resume"],
                  ["m.sde", "d.csv", "-o", "m.fit", "--checkpoint", "c.fit",
                   "--resume=m.fit"],
                  ["m.sde", "d.csv", "-o", "/dev/null", "--trace",
                   "/dev/null"]):
        done = girsanov(place, "fit", *words, "-q")
        if done.returncode and b"overwrite" in done.stderr:
            wrong.append((" ".join(words), done.stderr.decode()))
    done = girsanov(place, "fit", "m.sde", "d.csv", "-o", "n.fit", "--method",
                    "gibbs", "--chains", 1, "--warmup", 5, "--draws", 5, "-q")
    shutil.copy(place.work / "d.csv", place.work / "g.draws.csv")
    wrong.append(("draws", refuses(
        place, ["fit", "m.sde", "g.draws.csv", "-o", "g.fit", "--method",
                "gibbs"], [place.work / "g.draws.csv"])))
    return gather(wrong)


# --- Pictures ----------------------------------------------------------------

HALF = {"svg": "<svg viewBox='0 0 1 1'></desc>", "png": "\\211PNG",
        "pdf": "%%PDF-1.5"}

# What stands in for gnuplot, and a word of what is said.
GNUPLOTS = {
    "killed": ("printf '%s'; kill -9 $$", "signal"),
    "failing": ("cat >/dev/null; printf '%s'; echo 'line 1: no' >&2; exit 1",
                "line 1: no"),
    "dead": ("exit 3", "nothing"),
    "half": ("cat >/dev/null; printf '%s'", "an incomplete figure"),
    "mute": ("cat >/dev/null", "an incomplete figure"),
}


def stand_in(place, script):
    """The environment of a gnuplot of our own; None: without any."""
    folder = place.work / "bin"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if script is None:
        return dict(place.environment, PATH=str(folder))
    gnuplot = folder / "gnuplot"
    gnuplot.write_text("#!/bin/sh\n%s\n" % script)
    gnuplot.chmod(0o755)
    return dict(place.environment,
                PATH="%s:%s" % (folder, place.environment["PATH"]))


def run_in(place, environment, *words, **more):
    return subprocess.run([place.girsanov, *map(str, words)], cwd=place.work,
                          env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=600, check=False, **more)


def draws_nothing(place, words, ending, environment, word, **more):
    """Why the old picture is not kept, or the failure not said."""
    old = place.work / ("old." + ending)
    old.write_text("precious")
    names = sorted(os.listdir(place.work))
    done = run_in(place, environment, *words, "--plot", old.name, **more)
    said = done.stderr.decode()
    if done.returncode not in (1, 2) or said.count("girsanov: ") != 1:
        return "exit code %d: %r" % (done.returncode, said)
    if word not in said:
        return "the message is %r" % said
    if old.read_text() != "precious":
        return "the old picture is lost"
    if sorted(os.listdir(place.work)) != names:
        return "there are new files"
    return ""


def plots(place):
    """A command of every verb that draws."""
    fresh(place, "m.sde", OU)
    girsanov(place, "simulate", "m.sde", "-o", "d.csv", "--times", "0:8:31")
    girsanov(place, "fit", "m.sde", "d.csv", "-o", "m.fit", "-q", "--paths", 8)
    return {"summary": ["summary", "m.fit"], "look": ["look", "d.csv"],
            "field": ["field", "m.sde", "d.csv"],
            "physics": ["physics", "m.sde", "d.csv"],
            "paths": ["paths", "m.sde", "d.csv", "--paths", 8],
            "predict": ["predict", "m.sde", "d.csv", "--draws", 20],
            "profile": ["profile", "m.sde", "d.csv", "--param", "a", "--range",
                        "0.5:2", "--points", 3],
            "gradvar": ["gradvar", "m.sde", "d.csv", "--objectives", "auto",
                        "--repeats", 3]}


def plot__appears_whole_or_not_at_all(place):
    wrong, commands = [], plots(place)
    drawn = {v for v, _, options in verbs_with_files(place)
             if "--plot" in options}
    if drawn != set(commands):
        wrong.append(("table", "is not of %s" % drawn))
    for verb, words in commands.items():
        for name, (script, word) in GNUPLOTS.items():
            for ending in HALF if verb == "paths" else ["svg"]:
                environment = stand_in(place, script.replace(
                    "%s", HALF[ending].replace("'", '"')))
                wrong.append(("%s %s %s" % (verb, name, ending), draws_nothing(
                    place, words, ending, environment, word)))
        wrong.append((verb + " none", draws_nothing(
            place, words, "svg", stand_in(place, None), "not installed")))
    return gather(wrong)


def plot__is_kept_on_a_full_disk(place):
    """A limit on the size of files stands for the full disk; see simulate."""
    if not shutil.which("gnuplot"):
        return ""
    fresh(place, "m.sde", OU)
    girsanov(place, "simulate", "m.sde", "-o", "d.csv", "--times", "0:8:2500")
    most = 1 << 20
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return draws_nothing(place, ["paths", "m.sde", "d.csv", "--paths", 8],
                         "svg", place.environment, "cannot write old.svg",
                         preexec_fn=limit, restore_signals=False)


# --- Labels ------------------------------------------------------------------

LABELS = ["'s-Hertogenbosch", "''", "a''b'", 'say "no"', "back\\slash\\", "$x",
          "${HOME}", "`touch pwned`", "{/=20 big}", "50 %d %s", "a^2_3", "@x",
          "two\nlines", "tab\tand\rreturn", "\x1b[31mred\x1b[0m\x07",
          "\x7fdel", "c1 \x9b31m", "Zürich 東京 😀", "long " * 200, " edges ",
          "<b>&amp;</b>", "#1", ";semi", "-", "EOD", "NaN"]


def label_rows(labels):
    rows = ['"%s",%g,%g\n' % (label.replace('"', '""'), 0.2 * i, i % 3 - 1)
            for label in labels for i in range(12)]
    return "series,time,x\n" + "".join(rows)


def bad_bytes(text, lines=True):
    """What of these bytes commands a terminal, or is no UTF-8."""
    try:
        text = text.decode()
    except UnicodeDecodeError as error:
        return str(error)
    found = [c for c in text if (ord(c) < 32 and not (lines and c in "\n\t"))
             or 0x7f <= ord(c) < 0xa0]
    return "has %r" % found[:5] if found else ""


def in_figures(label):
    """As gsv_visible() has it, cut as titles are."""
    shown = [c if 32 <= ord(c) < 0x7f or ord(c) >= 0xa0 else
             {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(c) or "".join(
                 "\\x%02x" % b for b in c.encode()) for c in label]
    whole = [p for c in shown for p in (re.findall(r"\\x..", c) or [c])]
    return "".join(whole[:60]) + ("..." if len(whole) > 60 else "")


def report__takes_any_label(place):
    if not shutil.which("gnuplot"):
        return ""
    fresh(place, "m.sde", OU)
    fresh(place, "d.csv", label_rows(LABELS[:4]))
    girsanov(place, "fit", "m.sde", "d.csv", "-o", "m.fit", "-q")
    wrong = []
    for i in range(0, len(LABELS), 4):
        labels = LABELS[i:i + 4] if len(LABELS) - i > 1 else LABELS[i - 1:]
        (place.work / "d.csv").write_text(label_rows(labels), newline="")
        done = girsanov(place, "report", "m.fit", "d.csv", "-o", "p.html", "-q",
                        "--json", "--paths", 8, "--draws", 50)
        if done.returncode or json.loads(done.stdout)["figures"] != 7:
            wrong.append((repr(labels), (done.stdout + done.stderr).decode()))
            continue
        page = (place.work / "p.html").read_bytes()
        wrong.append((repr(labels), bad_bytes(page)))
        text = html.unescape(page.decode())
        wrong += [(repr(label), "is not in the figure") for label in labels
                  if ">%s<" % in_figures(label) not in text]
    if (place.work / "pwned").exists():
        wrong.append(("gnuplot", "ran a label"))
    return gather(wrong)


def report__loses_one_figure_and_not_the_page(place):
    """A gnuplot that fails the n-th time it is asked, as with a curve that has
    no finite number."""
    real = shutil.which("gnuplot")
    if not real:
        return ""
    fresh(place, "m.sde", OU)
    girsanov(place, "simulate", "m.sde", "-o", "d.csv", "--times", "0:8:31")
    girsanov(place, "fit", "m.sde", "d.csv", "-o", "m.fit", "-q")
    wrong = []
    for failing in range(1, 8):
        environment = stand_in(
            place, 'n=$(cat n); n=$((n + 1)); echo $n >n; [ $n -eq %d ] && '
            'echo "all points y value undefined!" >&2 && exit 1; exec %s "$@"'
            % (failing, real))
        fresh(place, "n", "0")
        done = run_in(place, environment, "report", "m.fit", "d.csv", "-o",
                      "p.html", "-q", "--paths", 8, "--draws", 50)
        page = (place.work / "p.html").read_text()
        if done.returncode or b"warning: 1 figure could not be drawn" not in \
                done.stderr:
            wrong.append((failing, done.stderr.decode()))
        elif page.count("<svg") != 6 or page.count("</html>") != 1 or \
                "all points y value undefined!" not in page:
            wrong.append((failing, "%d figures" % page.count("<svg")))
    return gather(wrong)


EVIL = "e\x1b[31m\x07\x7f\x9b\n\udcff"  # the last is a byte, no UTF-8


def text__control_characters_do_not_reach_the_terminal(place):
    """Labels, columns and names of files through every verb, in words and as
    JSON, on success and in messages."""
    model, data = "m%s.sde" % EVIL, "d%s.csv" % EVIL
    path = os.fsencode(str(place.work)) + b"/"
    with open(path + os.fsencode(model), "w") as out:
        out.write(OU)
    with open(path + os.fsencode(data), "wb") as out:
        text = 'series,time,x,"%s"\n' % EVIL + "".join(
            '"%s",%g,%g,1\n' % (EVIL + str(i // 12), 0.2 * (i % 12), i % 3 - 1)
            for i in range(24))
        out.write(os.fsencode(text))
    fit, page = "f%s.fit" % EVIL, "p%s.html" % EVIL
    wrong = []
    for words in (["fit", model, data, "-o", fit], ["summary", fit, "--model"],
                  ["check", model, data], ["loglik", model, data],
                  ["loglik", model, data, "--time", EVIL],
                  ["diagnose", model, data, "--residuals", "r" + EVIL],
                  ["diagnose", model, data, "--paper", "--paths", 2],
                  ["compare", model, fit, data],
                  ["predict", fit, data, "-o", "q" + EVIL],
                  ["paths", fit, data, "-o", "q" + EVIL],
                  ["field", fit, data, "-o", "q" + EVIL],
                  ["field", fit, "--at", data], ["simulate", model, "-o",
                                                 "s" + EVIL],
                  ["simulate", model, "-o", "no" + EVIL + "/s"],
                  ["report", fit, data, "-o", page], [EVIL], ["fit", EVIL],
                  ["loglik", model, EVIL], ["loglik", model, data, "--" + EVIL],
                  ["loglik", model, data, "--reference", EVIL],
                  ["fit", model, data, "-o", data],
                  ["check", data], ["loglik", model, model]):
        for more in ([], ["--json"]):
            if more and ("--model" in words or len(words) < 3):
                continue
            done = girsanov(place, *words, *more)
            name = " ".join(map(ascii, words + more))
            wrong += [(name, bad_bytes(done.stdout)),
                      (name, bad_bytes(done.stderr))]
            if done.returncode < 0 or (b"girsanov: " in done.stderr) != bool(
                    done.returncode):
                wrong.append((name, "exit code %d" % done.returncode))
            if more and done.stdout:
                json.loads(done.stdout)
    return gather(wrong)


def text__for_people_is_printed_in_one_place(place):
    """No printf but say(), so that nothing new gets around the escapes."""
    return gather((path.name, "prints by itself: %s" % found) for path in
                  sorted((place.root / "cli").glob("*.c"))
                  for found in re.findall(r"(?<!\w)printf\(|printf\(std\w+",
                                          path.read_text()))


def json__keeps_any_label(place):
    labels = [label for label in LABELS]
    fresh(place, "m.sde", OU)
    (place.work / "d.csv").write_text(label_rows(labels), newline="")
    done = girsanov(place, "predict", "m.sde", "d.csv", "--json", "--times",
                    "3,4", "--draws", 10)
    if done.returncode:
        return done.stderr.decode()
    said = {row["series"] for row in json.loads(done.stdout)["forecasts"]}
    return "" if said == set(labels) else "differ: %r" % (said ^ set(labels))


# --- Streams -----------------------------------------------------------------

def stdout__closed_descriptors_take_nothing(place):
    """What is printed must not end up in a file that was opened in the place
    of a closed descriptor."""
    fresh(place, "m.sde", OU)
    girsanov(place, "simulate", "m.sde", "-o", "d.csv", "--times", "0:8:31")
    wrong = []
    for words, files in ((["simulate", "m.sde", "-o", "a"], "a"),
                         (["paths", "m.sde", "d.csv", "-o", "a"], "a"),
                         (["diagnose", "m.sde", "d.csv", "--residuals", "a"],
                          "a"),
                         (["fit", "m.sde", "d.csv", "-o", "b", "--trace", "a"],
                          "a")):
        texts = set()
        for closed in itertools.chain.from_iterable(
                itertools.combinations(range(3), n) for n in range(4)):
            (place.work / files).unlink(missing_ok=True)
            done = girsanov(place, *words, preexec_fn=lambda c=closed: [
                os.close(i) for i in c])
            text = (place.work / files).read_text()
            texts.add(re.sub(r"(?m)^(\d+,\d+),[^,]*", r"\1", text))
            prints = 1 in closed and words[0] in ("diagnose", "fit")
            if done.returncode != int(prints):
                wrong.append(("%s without %s" % (words[0], closed),
                              "exit code %d" % done.returncode))
        if len(texts) > 1:
            wrong.append((words[0], "the file differs"))
    return gather(wrong)


def input__waits_for_a_pipe_until_interrupted(place):
    fresh(place, "m.sde", OU)
    os.mkfifo(place.work / "pipe")
    wrong = []
    for words in (["summary", "pipe"], ["loglik", "m.sde", "pipe"],
                  ["fit", "m.sde", "pipe", "-o", "m.fit"],
                  ["field", "m.sde", "--at", "pipe"]):
        run = subprocess.Popen([place.girsanov, *words], cwd=place.work,
                               env=place.environment,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
        try:
            run.wait(timeout=0.2)
            wrong.append((words[0], "did not wait: %s" % run.stderr.read()))
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGINT)
            run.wait(timeout=60)
        run.stderr.close()
    return gather(wrong)


# --- Odd names ---------------------------------------------------------------

NAMES = ["with space", "-dash", "--paths", "Zürich 東京", "n" * 251, "a'b\"c$d`e",
         "a\\b", "new\nline", "[x]*?", "=", "a=b", ".hidden", "\udcff"]


def names__odd_ones_are_names_like_any_other(place):
    wrong = []
    for name in NAMES:
        model, data, fit, page = (name + e for e in
                                  (".sde", ".csv", ".fit", ".x"))
        with open(os.fsencode(str(place.work)) + b"/" + os.fsencode(model),
                  "w") as out:
            out.write(OU)
        here = "./" + data
        for words in (["simulate", "-o", here, "--times", "0:4:12", "--",
                       model],
                      ["fit", "-o", "./" + fit, "-q", "--", model, data],
                      ["summary", "--", fit], ["loglik", "--", fit, data],
                      ["paths", "-o", "./" + page, "-q", "--", fit, data],
                      ["report", "-o", "./" + page, "-q", "--paths", 8,
                       "--draws", 20, "--", fit, data]):
            done = girsanov(place, *words)
            if done.returncode:
                wrong.append((ascii(words), done.stderr.decode()))
    return gather(wrong)


CONTENTS = {  # of data, and whether they can be read
    "crlf": (b"time,x\r\n0,1\r\n1,0\r\n", True),
    "cr": (b"time,x\r0,1\r1,0\r", True),
    "bom": (b"\xef\xbb\xbftime,x\n0,1\n1,0\n", True),
    "bom and remark": (b"\xef\xbb\xbf# r\ntime,x\n0,1\n1,0\n", True),
    "no end": (b"time,x\n0,1\n1,0", True),
    "blank lines": (b"\n\ntime,x\n\n0,1\n\n1,0\n\n", True),
    "empty": (b"", False), "blank": (b"\n \n", False),
    "header": (b"time,x\n", False), "remarks": (b"# a\n# b", False),
    "zero": (b"time,x\n0,1\n\0", False),
}


def contents__odd_ones_are_read_or_refused(place):
    wrong = []
    fresh(place, "m.sde", OU)
    for name, (text, good) in CONTENTS.items():
        for path in ("d.csv", "-"):
            (place.work / "d.csv").write_bytes(text)
            with open(place.work / "d.csv", "rb") as data:
                done = girsanov(place, "loglik", "m.sde", path, stdin=data)
            if good and (done.returncode or b"-0.656176 " not in done.stdout):
                wrong.append((name, done.stderr.decode()))
            if not good:
                wrong.append((name, complaint(done)))
    for path in (".", "/dev/null", "nowhere", "m.sde/x"):
        for words in (["loglik", "m.sde", path], ["check", path],
                      ["summary", path], ["field", "m.sde", "--at", path],
                      ["simulate", "m.sde", "-o", path + "/n/x"]):
            wrong.append((" ".join(words), complaint(girsanov(place, *words))))
    return gather(wrong)


ALL = [value for name, value in list(globals().items())
       if re.fullmatch(r"[a-z]+__\w+", name) and callable(value)]

LONG = [report__takes_any_label, report__loses_one_figure_and_not_the_page,
        names__odd_ones_are_names_like_any_other]

# SPDX-License-Identifier: MIT
"""What every row of the table has, and how its figures are kept."""
import json
import math
import os
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded
HERE = Path(__file__).resolve().parent
for name in ("", "trust", "discover", "training", "hidden"):
    sys.path.insert(0, str(HERE.parent / name))
from study import FULL, TINY, sized  # noqa: E402

SIZE = "full" if FULL else "tiny" if TINY else "quick"
HERE_RUN = "written anew, same data"


@dataclass
class Row:
    """One comparison. measure(study, seed) gives a dictionary with

        ours, cpu          our figure, and CPU seconds of the command
        theirs, peer_cpu   the peer's on the same data, if it was written anew

    Figures are errors or costs: smaller is better."""
    name: str
    group: str
    peer: str
    data: str
    metric: str
    measure: object
    seeds: tuple = (1, 3, 20)   # tiny, quick, full
    published: float = None     # the peer's own figure,
    source: str = HERE_RUN      # and where it stands
    same: float = 0.0           # a difference that does not matter
    why: str = ""               # why the peer is better, where it is
    found: list = field(default_factory=list)
    size: str = SIZE            # of the run that found them

    def file(self, folder, size):
        return folder / ("%s-%s.json" % (self.name, size))

    def run(self, study, folder, again):
        """Measures the seeds that were not measured before."""
        path = self.file(folder, SIZE)
        kept = json.loads(path.read_text()) if path.exists() and not again else {}
        for seed in range(1, 1 + sized(*self.seeds)):
            if str(seed) not in kept:
                kept[str(seed)] = self.tried(study, seed)
                part = path.with_suffix(".part")
                part.write_text(json.dumps(kept))
                part.replace(path)
        self.found = list(kept.values())

    def tried(self, study, seed):
        """A command that fails is a result, too: ours is None."""
        try:
            return json.loads(json.dumps(self.measure(study, seed), default=float))
        except SystemExit as e:
            print(e, file=sys.stderr)
            return {"ours": None, "said": str(e)}

    def load(self, folder):
        """What the largest run that was kept has found."""
        for size in ("full", "quick"):
            path = self.file(folder, size)
            if path.exists():
                self.size, self.found = size, list(json.loads(path.read_text()).values())
                return

    def keep(self, runs, results):
        """Copies the largest of the runs to the results that the page is made of."""
        for size in ("full", "quick"):
            path = self.file(runs, size)
            if path.exists():
                kept = rounded(json.loads(path.read_text()))
                self.file(results, size).write_text(
                    "{\n" + ",\n".join('"%s": %s' % (seed, json.dumps(one))
                                       for seed, one in kept.items()) + "\n}\n")
                return

    def values(self, name):
        return [math.inf if f[name] is None else f[name]
                for f in self.found if name in f]

    def pairs(self):
        """Ours and theirs for every seed; a published figure is the same for all."""
        return [(math.inf if f["ours"] is None else f["ours"], self.peers(f))
                for f in self.found]

    def peers(self, found):
        if self.published is not None:
            return self.published
        value = found.get("theirs")
        return math.inf if value is None else value

    def ratio(self):
        """Geometric mean of ours / theirs over the seeds, where it exists."""
        pairs = self.pairs()
        if not pairs or not all(0 < a < math.inf and 0 < b < math.inf for a, b in pairs):
            return math.nan
        return math.exp(mean([math.log(a / b) for a, b in pairs]))

    def verdict(self):
        """better or worse where five seeds or more all agree, or where the interval of
        the mean of log(ours / theirs) has no 0; equal where it is within a factor
        of 1.25; otherwise there are too few seeds."""
        pairs = self.pairs()
        if not pairs:
            return "not run"
        if all(a == b or abs(a - b) <= self.same for a, b in pairs):
            return "equal"
        signs = {(a > b) - (a < b) for a, b in pairs}
        if len(signs) == 1 and len(pairs) >= 5:
            return "better" if signs == {-1} else "worse"
        if len(pairs) < 3 or math.isnan(self.ratio()):
            return "too few seeds to tell" if not self.same else "worse"
        apart = [math.log(a / b) for a, b in pairs]
        half = student(len(apart) - 1) * spread(apart) / math.sqrt(len(apart))
        if abs(mean(apart)) > half:
            return "better" if mean(apart) < 0 else "worse"
        return ("equal" if abs(mean(apart)) + half < math.log(1.25)
                else "too few seeds to tell")


def student(n):
    """Close to the 97.5 % point of Student's law with n degrees of freedom."""
    table = {2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
    return table.get(n, 1.96 + 2.8 / n)


def rounded(x):
    """Numbers with six digits, which is more than a page shows."""
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    return float("%.6g" % x) if isinstance(x, float) else x


def mean(values):
    return sum(values) / len(values) if values else math.nan


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def number(x):
    return "failed" if x == math.inf else "" if math.isnan(x) else "%.3g" % x


def with_spread(values):
    if len(values) < 2 or not math.isfinite(mean(values)):
        return number(mean(values))
    return "%s ± %.1g" % (number(mean(values)), spread(values))

# SPDX-License-Identifier: MIT
"""What the scripts of this folder share: small models, a place to run the command
in, and each verb's main path."""
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

OU = "state x\nparam a = 1 > 0, s = 1 > 0\ndx = -a*x*dt + s*dW\n"
NOISY = OU + "param e = 0.3 > 0\nobs y ~ normal(x, e)\ninit x ~ normal(0, 1)\n"
NET = "state x\nparam s = 1 > 0\nnet f(x) -> 1 : 8 silu\ndx = f*dt + s*dW\n"
GP = "state x\nparam s = 1 > 0\ngp h(x) -> 1 : grid 8 rbf\ndx = h*dt + s*dW\n"
TERMS = "state x\nparam s = 1 > 0\nterms f(x) -> 1 : 1, x\ndx = f*dt + s*dW\n"


class Place:
    def __init__(self, girsanov, preload=None):
        self.girsanov, self.preload = girsanov, preload
        self.path = Path(tempfile.mkdtemp(prefix="girsanov-faults-"))
        self.env = dict(os.environ, LC_ALL="C")
        self.random = random.Random(1)

    def run(self, *words, env=None, timeout=300, **more):
        return subprocess.run([self.girsanov, *map(str, words)], cwd=self.path,
                              env=dict(self.env, **(env or {})),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout, **more)

    def must(self, *words, **more):
        done = self.run(*words, **more)
        if done.returncode:
            raise RuntimeError("%s: %s" % (words, done.stderr.decode()))
        return done

    def model(self, text, name="m.sde"):
        (self.path / name).write_text(text)
        return name

    def data(self, text, rows=101, name="d.csv"):
        self.must("simulate", self.model(text), "--times", "0:10:%d" % rows,
                  "-o", name, "-q")
        return name


def verbs(place):
    """Each verb's main path, on little data."""
    noisy = place.data(NOISY, 9, "noisy.csv")
    shutil.copy(place.path / "m.sde", place.path / "noisy.sde")
    data = place.data(OU, 9)
    place.must("fit", "m.sde", data, "-o", "ou.fit", "-q")
    place.model(GP, "gp.sde")
    place.must("fit", "gp.sde", data, "-o", "gp.fit", "-q", "--iterations", 3)
    place.model(NET, "net.sde")
    place.model(TERMS, "terms.sde")
    few = ["--paths", 4, "--steps", 2, "--threads", 1]
    return [
        ["check", "m.sde", data],
        ["simulate", "m.sde", "--times", "0:1:5", "-o", "new.csv"],
        ["loglik", "m.sde", data, "--gradient", *few],
        ["loglik", "noisy.sde", noisy, "--gradient", *few, "--json"],
        ["diagnose", "m.sde", data, *few],
        ["fit", "m.sde", data, "-o", "new.fit", *few, "--iterations", 2, "-q"],
        ["fit", "net.sde", data, "-o", "new.fit", *few, "--iterations", 2,
         "-q", "--checkpoint", "c.fit", "--trace", "t.csv"],
        ["fit", "gp.sde", data, "-o", "new.fit", "--iterations", 2, "-q",
         "--threads", 1],
        ["fit", "m.sde", data, "-o", "new.fit", "--method", "gibbs", "--draws",
         8, "--warmup", 4, "--chains", 2, "--threads", 1, "-q"],
        ["select", "terms.sde", data, "-o", "new.fit", "--errors", "none",
         "--resamples", 2, *few, "-q"],
        ["summary", "ou.fit", "--json"],
        ["field", "gp.fit", "--grid", "x=-1:1:5"],
        ["profile", "ou.fit", data, "--param", "a", "--points", 3, *few],
        ["compare", "ou.fit", "m.sde", data, *few],
        ["paths", "ou.fit", data, "--paths", 8, "--threads", 1],
        ["paths", "noisy.sde", noisy, "--paths", 8, "--threads", 1],
        ["predict", "ou.fit", data, "--draws", 8, "--threads", 1],
        ["gradvar", "m.sde", data, "--repeats", 2, *few, "-q"],
        ["report", "gp.fit", data, "-o", "new.html", "--draws", 8, *few],
    ]

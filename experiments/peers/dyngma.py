# SPDX-License-Identifier: MIT
"""DynGMA's problem of two states: a network learns the drift, and a constant full
matrix the noise. The problem and the fits are those of experiments/training."""
import os

import numpy as np

from metrics import Bench, Distance
from peers import Row, sized
from problems import two_states
from study import GIRSANOV, ROOT

SOURCE = "published: Zhu et al., J. Comput. Phys. 2024, repository Aiqing-Zhu/DynGMA"
# Gap: errors of drift and sigma of DynGMA, and of Euler's likelihood.
PUBLISHED = {0.2: (0.0745, 0.0377, 0.496, 0.158), 0.1: (0.0438, 0.0052, 0.293, 0.0922),
             0.05: (0.0459, 0.0099, 0.155, 0.0405)}
WHY = ("These are means over few seeds, with default options and CPU seconds instead of the "
       "published training of 100,000 iterations or so; data and first weights are not theirs.")


def measure(gap, part, *options):
    def one_seed(study, seed):
        bench = Bench(os.environ.get("FITS", ROOT / "build" / "experiments" / "training"),
                      [GIRSANOV], [], 1800)
        problem = two_states(gap, seed, round(sized(0.02, 1, 1) * 2000 * gap / 0.05))
        fit = bench.fit(problem, 0, options=["--seed", problem.seed, *options])
        if fit.failed:
            return {"ours": None, "cpu": fit.cpu, "said": fit.reason}
        truth, found = bench.truth(problem), bench.field(problem, fit.file)
        drift = np.sqrt(Distance(found, truth).drift)
        s, s0 = (np.linalg.cholesky(S[0]) for _, S in (found, truth))
        sigma = np.linalg.norm(s - s0) / np.linalg.norm(s0)
        return {"ours": float(drift if part == "drift" else sigma), "cpu": fit.cpu}
    return one_seed


def row(gap, part, euler):
    published = PUBLISHED[gap][2 * euler + (part == "sigma")]
    peer, options = ("DynGMA", []) if not euler else (
        "DynGMA's Euler rows, beside `--objective gradient-matching`", ["--objective", "gradient-matching"])
    return Row("dyngma-%g-%s%s" % (gap, part, "-euler" * euler), "dyngma", peer,
               "2-D, h = %g, %d series" % (gap, round(2000 * gap / 0.05)),
               "relative RMS error of %s over the box" % part, measure(gap, part, *options),
               (1, 3, 5), published=published, source=SOURCE, why=WHY)


ROWS = [row(gap, part, euler) for euler in (False, True) for gap in PUBLISHED
        for part in ("drift", "sigma")]

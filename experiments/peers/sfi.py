# SPDX-License-Identifier: MIT
"""The gallery of StochasticForceInference: terms of the force that `select` finds, with
as many seeds as are affordable, where the published figure has one track."""
from peers import Row, sized
from sindy import children
from systems import CYCLE, LORENZ, read, select, simulate, thin

SOURCE = "published, one track: gallery of StochasticForceInference 2.0.2"


def force(system, gap, rows):
    def measure(study, seed):
        data = thin(study, simulate(study, system, seed, gap, rows))
        _, x = read(data)
        begin = sum(children())
        c, _ = select(study, system, data, "--errors", "none", "--resamples", 1)
        return {"ours": system.error(c, x), "cpu": sum(children()) - begin,
                "mistakes": sum(system.mistakes(c))}
    return measure


ROWS = [Row("sfi-" + name, "sfi", "StochasticForceInference 2.0", what,
            "squared error of the force", force(system, gap, sized(200, rows, rows)),
            (1, 10, 20), published=published, source=SOURCE,
            why="One published track is compared with many of ours; `select` asks for more "
                "evidence and leaves out weak terms.")
        for name, what, system, gap, rows, published in (
            ("lorenz", "Lorenz, D = 5, 2000 rows, gap 0.005", LORENZ, 0.005, 2000, 0.0250),
            ("cycle", "limit cycle, D = 0.1, 4000 rows, gap 0.05", CYCLE, 0.05, 4000, 0.0017))]

# SPDX-License-Identifier: MIT
"""The problems of this experiment: a true SDE, its data, and the model to learn.
Truths and models are texts of the model language."""
import numpy as np

NAMES = ("x", "y", "z")


class Problem:
    """A truth, how its data are made, and the model that is fitted to them.

    simulate   options of `girsanov simulate`, or
    draw       a function of no arguments that gives (times, x): x has the shape
               (series, rows, states)
    gp         a second model, with a Gaussian process for the drift
    seed       of the fit
    grid       where drift and noise are compared, as the option --grid of `field`;
               otherwise at the observations
    """

    def __init__(self, name, truth, model, simulate=None, draw=None, gp=None, grid=None, what="", seed=1):
        self.name, self.truth, self.model, self.what = name, truth, model, what
        self.simulate, self.draw, self.gp, self.grid = simulate, draw, gp, grid
        self.seed = seed


def state_line(d):
    return "state " + ", ".join(NAMES[:d]) + "\n"


def sde(drifts, noises, head=""):
    """The text of an SDE with a separate noise for each state."""
    d = len(drifts)
    return state_line(d) + head + "".join(
        "d%s = (%s)*dt + (%s)*dW\n" % (NAMES[i], drifts[i], noises[i]) for i in range(d))


def net_line(name, d, outputs, widths):
    return "net %s(%s) -> %d : %s\n" % (name, ", ".join(NAMES[:d]), outputs, widths)


def each(name, d):
    """Outputs of a function with d of them."""
    return [name] if d == 1 else ["%s[%d]" % (name, i + 1) for i in range(d)]


# --- Small problems -----------------------------------------------------------


def well(draw):
    a, b = draw.uniform(0.5, 3), draw.uniform(0.5, 2)
    return ["%.4g*(x - %.4g*x^3)" % (a, b)]


def ou(draw):
    return ["%.4g*(%.4g - x)" % (draw.uniform(0.3, 3), draw.uniform(-1, 1))]


def sine(draw):
    return ["%.4g*sin(%.4g*x) - %.4g*x" % (draw.uniform(1, 3), draw.uniform(1, 3), draw.uniform(0.2, 1))]


def vdp(draw):
    return ["y", "%.4g*(1 - x^2)*y - x" % draw.uniform(0.5, 3)]


def cubic(draw):
    """Two cubic oscillators in turn: damped, and of Duffing."""
    if draw.integers(2):
        a, b = draw.uniform(0.05, 0.3), draw.uniform(1, 2)
        return ["-%.4g*x^3 + %.4g*y^3" % (a, b), "-%.4g*x^3 - %.4g*y^3" % (b, a)]
    return ["y", "%.4g*(x - x^3) - %.4g*y" % (draw.uniform(0.5, 2), draw.uniform(0.2, 1))]


SMALL = [well, ou, sine, vdp, cubic]
WIDTHS = ["16 16", "32 32", "64 64", "256 256"]
LINKS = ["exp(%s)", "softplus(%s)"]


def small_model(d, widths, link):
    """A network for the drift; the noise is a number for each state, or a network
    with a link."""
    head = net_line("f", d, d, widths)
    if not link:
        return sde(each("f", d), each("s", d), "param s%s = 1 > 0\n" % ("[%d]" % d if d > 1 else "") + head)
    return sde(each("f", d), [link % g for g in each("g", d)], head + net_line("g", d, d, "16 16 silu"))


def gp_model(d):
    head = "param s%s = 1 > 0\n" % ("[%d]" % d if d > 1 else "")
    head += "gp f(%s) -> %d : grid %d rbf + linear\n" % (", ".join(NAMES[:d]), d, 32 if d == 1 else 16)
    return sde(each("f", d), each("s", d), head)


def issue_case():
    """The fit that began this experiment."""
    return Problem("well-0", sde(["2*(x - x^3)"], ["0.7"]), small_model(1, "64 64 silu", None),
                   ["--times", "0:15:151", "--x0", "0", "--seed", "3"], gp=gp_model(1),
                   what="151 rows, gap 0.1, 64 64 silu, constant")


def irregular(draw, gap, rows):
    """Times whose gaps are between a half and one and a half of the mean."""
    times = np.concatenate(([0.0], np.cumsum(gap * draw.uniform(0.5, 1.5, rows - 1))))
    return ",".join("%.6g" % t for t in times)


def small(index, seed):
    """Problem index of those of a seed; families and widths take turns."""
    if index == 0 and seed == 1:
        return issue_case()
    draw = np.random.default_rng([seed, index])
    family = SMALL[index % len(SMALL)]
    drifts = family(draw)
    d, s = len(drifts), draw.uniform(0.3, 1)
    widths = "%s %s" % (WIDTHS[index // len(SMALL) % len(WIDTHS)], draw.choice(["silu", "tanh"]))
    link = LINKS[draw.integers(2)] if draw.uniform() < 0.3 else None
    curved = link is not None and draw.integers(2) == 1
    noises = ["%.4g*(1 + 0.4*sin(%s))" % (s, n) if curved else "%.4g" % s for n in NAMES[:d]]
    rows, gap = int(draw.integers(100, 401)), draw.uniform(0.05, 0.2)
    uneven = draw.uniform() < 0.25
    times = irregular(draw, gap, rows) if uneven else "0:%.6g:%d" % (gap * (rows - 1), rows)
    what = "%d rows, %sgap %.2g, %s, %s" % (rows, "irregular " if uneven else "", gap, widths,
                                            "constant" if not link else link % "g")
    return Problem("%s-%d" % (family.__name__, index), sde(drifts, noises), small_model(d, widths, link),
                   ["--times", times, "--x0", "normal", "--seed", str(1000 * seed + index)],
                   gp=gp_model(d), what=what)


# --- Larger problems ----------------------------------------------------------


def euler(f, g, start, gap, rows, substeps, draw):
    """Series of the SDE by Euler's scheme, (series, rows, states); g gives the noise
    of each state, which has its own Brownian motion."""
    x, dt = np.array(start, float), gap / substeps
    out = np.empty((len(x), rows, x.shape[1]))
    out[:, 0] = x
    for n in range(1, rows):
        for _ in range(substeps):
            x = x + f(x) * dt + g(x) * np.sqrt(dt) * draw.standard_normal(x.shape)
        out[:, n] = x
    return gap * np.arange(rows), out


LORENZ = ["10*(y - x)", "x*(28 - z) - y", "x*y - 8/3*z"]


def lorenz(noise, seed):
    """As in the demo, with other noises and a network 3-128-128-3."""
    model = sde(each("f", 3), 3 * ["sigma"], "param sigma = 1 > 0\n" + net_line("f", 3, 3, "128 128 silu"))
    return Problem("lorenz-%g-s%d" % (noise, seed), sde(LORENZ, 3 * ["%g" % noise]), model,
                   ["--tracks", "16", "--times", "0:10:200", "--x0", "normal", "--seed", str(seed)], seed=seed)


def lower_noise(d, g, link):
    """Factors of a lower triangular noise: elements g[1], g[2], ... row by row, those
    of the diagonal with a link."""
    rows, n = [], 0
    for i in range(d):
        terms = []
        for j in range(i + 1):
            n += 1
            terms.append((link if i == j else "%s") % ("%s[%d]" % (g, n)) + "*dW%d" % (j + 1))
        rows.append(" + ".join(terms))
    return rows


def full_sde(drifts, noises, head=""):
    """The text of an SDE; noises have their dW."""
    d = len(drifts)
    return state_line(d) + head + "".join(
        "d%s = (%s)*dt + %s\n" % (NAMES[i], drifts[i], noises[i]) for i in range(d))


def two_states(gap, seed, series):
    """The 2-D system of DynGMA: `series` series over [0, 1], a constant full noise."""
    drifts = ["x*(1 - x^2)/5 + y*(1 + sin(x))", "-y + 2*x*(1 - x^2)*(1 + sin(x))"]
    noises = np.sqrt([1 / 50, 1 / 5])

    def f(v):
        x, y = v.T
        return np.stack([x * (1 - x * x) / 5 + y * (1 + np.sin(x)),
                         -y + 2 * x * (1 - x * x) * (1 + np.sin(x))], axis=1)

    def data():
        draw = np.random.default_rng([seed, round(100 * gap)])
        start = draw.uniform([-2, -3], [2, 3], (series, 2))
        return euler(f, lambda x: noises, start, gap, round(1 / gap) + 1, 10, draw)

    head = "param a = 1 > 0, b = 0, c = 1 > 0\n" + net_line("f", 2, 2, "128 128 tanh")
    return Problem("two-%g-%d-s%d" % (gap, series, seed), sde(drifts, ["%.17g" % s for s in noises]),
                   full_sde(each("f", 2), ["a*dW1", "b*dW1 + c*dW2"], head), draw=data,
                   grid="x=-2:2:101,y=-3:3:101", seed=seed)


def lorenz_growing(series, seed):
    """DynGMA's Lorenz system: a tenth of the states, noise 0.3 times each state, 200
    rows 0.01 apart; the noise is a lower triangular network."""
    drifts = ["10*(y - x)", "28*x - 10*x*z - y", "10*x*y - 8/3*z"]
    low, high = np.array([-2.5, -3, -1]), np.array([2.5, 3, 6])

    def f(v):
        x, y, z = v.T
        return np.stack([10 * (y - x), 28 * x - 10 * x * z - y, 10 * x * y - 8 / 3 * z], axis=1)

    def data():
        draw = np.random.default_rng([seed, series])
        return euler(f, lambda x: 0.3 * x, draw.uniform(low, high, (series, 3)), 0.01, 200, 20, draw)

    head = net_line("f", 3, 3, "128 128 tanh") + net_line("g", 3, 6, "128 128 tanh")
    return Problem("lorenz-growing-%d-s%d" % (series, seed), sde(drifts, ["0.3*%s" % n for n in NAMES]),
                   full_sde(each("f", 3), lower_noise(3, "g", "exp(%s)"), head), draw=data,
                   grid=",".join("%s=%g:%g:21" % (n, a, b) for n, a, b in zip(NAMES, low, high)), seed=seed)


# Height, centre and the coefficients of (x - x0)^2, (x - x0)(y - y0) and (y - y0)^2
# of the four terms of the potential of Mueller and Brown, a hundredth of it.
MUELLER = [(-2.0, 1, 0, -1, 0, -10), (-1.0, 0, 0.5, -1, 0, -10), (-1.7, -0.5, 1.5, -6.5, 11, -6.5),
           (0.15, -1, 1, 0.7, 0.6, 0.7)]


def mueller_text():
    hills = ["%g*exp(%g*(x - %g)^2 + %g*(x - %g)*(y - %g) + %g*(y - %g)^2)" % (A, a, p, b, p, q, c, q)
             for A, p, q, a, b, c in MUELLER]
    return "state x, y\nlet U = " + " + ".join(hills).replace("- -", "+ ") + \
        "\ndx = -grad(U, x)*dt + dW\ndy = -grad(U, y)*dt + dW\n"


def mueller(rows, seed):
    """One series in the potential of Mueller and Brown, diffusion 0.5, 0.01 apart; the
    potential is a network."""
    def f(v):
        out = np.zeros_like(v)
        for A, p, q, a, b, c in MUELLER:
            x, y = v[:, 0] - p, v[:, 1] - q
            hill = A * np.exp(a * x * x + b * x * y + c * y * y)
            out -= np.stack([hill * (2 * a * x + b * y), hill * (b * x + 2 * c * y)], axis=1)
        return out

    def data():
        draw = np.random.default_rng([seed, rows])
        return euler(f, lambda x: 1.0, [[-0.5, 1.5]], 0.01, rows, 10, draw)

    model = "state x, y\nparam s = 1 > 0\nnet U(x, y) -> 1 : 64 64 silu\n" \
        "dx = -grad(U, x)*dt + s*dW\ndy = -grad(U, y)*dt + s*dW\n"
    return Problem("mueller-%d-s%d" % (rows, seed), mueller_text(), model, draw=data, seed=seed)


def lorenz96(gap, series, rows, seed, states=40):
    """Lorenz 96 with the force 8 and noise 1, on its attractor."""
    def term(i):
        at = ["x[%d]" % ((i + k) % states + 1) for k in (1, -2, -1, 0)]
        return "(%s - %s)*%s - %s + 8" % tuple(at)

    def f(x):
        return (np.roll(x, -1, 1) - np.roll(x, 2, 1)) * np.roll(x, 1, 1) - x + 8

    def data():
        draw = np.random.default_rng([seed, round(1000 * gap), series])
        start = 2 + draw.standard_normal((series, states))
        _, warm = euler(f, lambda x: 1.0, start, 5.0, 2, 2500, draw)
        return euler(f, lambda x: 1.0, warm[:, -1], gap, rows, round(gap / 0.001), draw)

    head = "state x[%d]\n" % states
    return Problem("lorenz96-%g-%dx%d-s%d" % (gap, series, rows, seed),
                   head + "dx = [%s]*dt + dW\n" % ",\n".join(map(term, range(states))),
                   head + "param sigma = 1 > 0\nnet f(x) -> %d : 256 256 silu\ndx = f*dt + sigma*dW\n" % states,
                   draw=data, seed=seed)


# --- Networks for the noise ---------------------------------------------------

# Drifts, and the factors of a lower triangular noise row by row; a diagonal one has
# those of its diagonal.
NOISY = {
    1: (["3*(x - x^3)"], [["0.3 + 0.5/(1 + x^2)"]]),
    2: (["y", "(1 - x^2)*y - x"], [["0.4*(1 + 0.5*sin(x))"], ["0.3*cos(y)", "0.5*(1 + 0.4*sin(x + y))"]]),
    3: (["x*(1 - x^2 - y^2) - 3*y", "y*(1 - x^2 - y^2) + 3*x", "2*x*y - 2*z"],
        [["0.5*(1 + 0.5*sin(y))"], ["0.3*x/(1 + x^2)", "0.5*(1 + 0.5*sin(z))"],
         ["0.3*sin(y)", "0.3*cos(x)", "0.5*(1 + 0.5*sin(x))"]]),
}


def noisy(d, full, seed):
    """1000 gaps for each state, 0.05 apart, in four series; networks for drift and noise."""
    drifts, factors = NOISY[d]
    if full:
        truth = full_sde(drifts, [" + ".join("(%s)*dW%d" % (g, j + 1) for j, g in enumerate(row)) for row in factors])
        noises = lower_noise(d, "g", "exp(%s)")
    else:
        truth = sde(drifts, [row[-1] for row in factors])
        noises = ["exp(%s)*dW" % g for g in each("g", d)]
    head = net_line("f", d, d, "64 64 silu") + net_line("g", d, d * (d + 1) // 2 if full else d, "32 32 silu")
    rows = 250 * d + 1
    return Problem("noise-%d-%s-s%d" % (d, "full" if full else "diagonal", seed), truth,
                   full_sde(each("f", d), noises, head),
                   ["--tracks", "4", "--times", "0:%g:%d" % (0.05 * (rows - 1), rows), "--x0", "normal",
                    "--seed", str(seed)], seed=seed)

# SPDX-License-Identifier: MIT
"""Models against closed forms, differences and the command."""
import copy
import math
import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import girsanov
from conftest import NET, OU, exact_ou
from girsanov import InputError, Model


def test_likelihood_is_exact(ou, data):
    exact = sum(exact_ou(t, x[:, 0], 1, 1) for t, x in data.tracks())
    found = ou.loglik(data)
    assert float(found) == found.loglik == pytest.approx(exact, abs=1e-9)
    assert found.stderr < 1e-9 and found.gaps == 100


def test_gradient_is_the_slope(ou, data):
    """With a reference that does not move, by the same random numbers."""
    fixed = dict(reference="brownian", form="ito", paths=16, steps=4)
    found = ou.set(a=0.8, s=1.2).loglik(data, gradient=True, **fixed)
    h = 1e-5
    for name, value in ou.params.items():
        up = ou.copy().set({name: value + h}).loglik(data, **fixed).loglik
        down = ou.copy().set({name: value - h}).loglik(data, **fixed).loglik
        assert found.gradient[name] == pytest.approx((up - down) / 2 / h,
                                                     rel=1e-6, abs=1e-4)
    theta, slope = ou.theta, found.theta_gradient
    for i in range(len(theta)):
        step = np.eye(len(theta))[i] * h
        values = []
        for sign in 1, -1:
            moved = ou.copy()
            moved.theta = theta + sign * step
            values.append(moved.loglik(data, **fixed).loglik)
        assert slope[i] == pytest.approx((values[0] - values[1]) / 2 / h,
                                         rel=1e-6, abs=1e-4)


def same(mine, theirs):
    """A value of Python and one of JSON, where NaN is null."""
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(
            same(mine[k], v) for k, v in theirs.items())
    if theirs is None:
        return mine is None or math.isnan(mine)
    if isinstance(mine, np.ndarray):
        return np.array_equal(mine, np.array(theirs, float), equal_nan=True)
    return mine == theirs


@pytest.mark.parametrize("text, options, words", [
    (OU, {}, []),
    (NET, dict(paths=8, steps=4, seed=5), ["--paths", 8, "--steps", 4]),
    (OU, dict(tolerance=0.5, **girsanov.PAPER),
     ["--paper", "--tolerance", 0.5]),
    ("state x\nparam a = 1, e = 1 > 0\ninit x ~ normal(0, 1)\n"
     "dx = -a*x*dt + dW\nobs y ~ normal(x, e)", dict(observe="scan"),
     ["--observe", "scan"]),
])
def test_results_are_the_commands(text, options, words, command, tmp_path):
    model = Model(text, seed=options.get("seed", 1))
    data = model.simulate(np.linspace(0, 2, 21), x0=0.5, seed=2)
    data.write(tmp_path / "d.csv")
    (tmp_path / "m.sde").write_text(text)
    theirs = command("loglik", tmp_path / "m.sde", tmp_path / "d.csv", "-q",
                     "--gradient", *words, "--seed", options.get("seed", 1))
    mine = vars(model.loglik(data, gradient=True, **options))
    del theirs["seconds"]
    for key, value in theirs.items():
        assert same(mine[key], value), key


def test_parameters():
    model = Model("state x[2]\nparam a = 1, v[2] = [1, 2] > 0\n"
                  "param A[2,2] = [1, 2, 3, 4]\ndx = (a*v + A @ x)*dt + dW")
    assert model.states == ["x1", "x2"]
    assert model.params["A"].tolist() == [[1, 2], [3, 4]]
    model.set({"A[1,2]": 7, "v": [3, 4]}, a=2)
    assert model.params["A"][0, 1] == 7 and model.params["a"] == 2
    was = model.params["v"]
    model.set(v=5)
    assert was.tolist() == [3, 4] and model.params["v"].tolist() == [5, 5]
    for name, value, message in [("b", 1, "b"), ("v", -1, "v"),
                                 ("v", [1, 2, 3], "v")]:
        with pytest.raises(InputError, match=message):
            model.set({name: value})
    with pytest.raises(InputError, match="but the model has 7 numbers"):
        model.theta = [1, 2]


def test_models_and_series_can_be_sent_elsewhere(ou, data):
    ou.set(a=3)
    for again in copy.copy(ou), copy.deepcopy(ou), pickle.loads(
            pickle.dumps(ou)):
        assert again.params == ou.params and type(again) is Model
        again.set(a=1)
        assert ou.params["a"] == 3
    sent = pickle.loads(pickle.dumps(data))
    assert ou.loglik(sent).loglik == ou.loglik(copy.copy(data)).loglik
    assert sent.labels == data.labels


def test_networks_are_drawn_by_the_seed():
    one, two = Model(NET), Model(NET, seed=2)
    assert (Model(NET).theta == one.theta).all()
    assert (one.theta != two.theta).any()
    assert (one.draw(2).theta == two.theta).all()


@pytest.mark.parametrize("options, kind, message", [
    (dict(random="id"), InputError, "random id: expected sobol or iid"),
    (dict(paths=-1), InputError, "paths -1: expected a whole number of at least 0"),
    (dict(paths=2.5), InputError, "paths 2.5: expected a number"),
    (dict(step="long"), ValueError, "could not convert"),
    (dict(pahts=3), TypeError, "loglik() has no option 'pahts'; did you mean "
     "'paths'?"),
    (dict(iteration=1 << 40), InputError, "iteration"),
])
def test_options_are_checked(ou, data, options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        ou.loglik(data, **options)


def test_failures_have_the_librarys_sentence(ou):
    with pytest.raises(InputError, match=r"mine:2:7: unknown name 'y'"):
        Model("state x\ndx = -y*dt + dW", name="mine")
    with pytest.raises(InputError, match="no/such.sde"):
        Model.read("no/such.sde")
    with pytest.raises(InputError, match="is a file; Model.read"):
        Model(__file__)
    with pytest.raises(InputError, match="has a zero byte"):
        Model("state x\0")
    assert issubclass(InputError, ValueError)
    assert issubclass(girsanov.OutOfMemory, MemoryError)


def test_doubtful_numbers_are_warned_of():
    model = Model("state x\nparam s = 0.5 > 0\ndx = 10*sin(5*x)*dt + s*dW")
    rough = ([0, 2, 4], [0, 1.5, 0.2])
    with pytest.warns(girsanov.Caution):
        model.loglik(rough, paths=16, steps=2, reference="brownian",
                     form="ito")


def test_simulation(ou):
    t = np.linspace(0, 1, 5)
    a = ou.simulate(t, tracks=3, x0=[[1], [2], [3]], seed=7)
    assert a.array[:, 0, 0].tolist() == [1, 2, 3]
    assert (a.time[:5] == t).all()
    b = ou.simulate(t, tracks=3, x0=[[1], [2], [3]], seed=7, threads=1)
    assert (a.values == b.values).all()
    assert (ou.simulate(t, x0=2.5).array[0, 0] == 2.5).all()
    assert (ou.simulate(t, x0=("normal", 9, 0.01)).values[0] > 8).all()
    with pytest.raises(InputError, match="an array \\(2, 1\\)"):
        ou.simulate(t, tracks=2, x0=[1, 2, 3])
    driven = Model("state x\ninput u\ndx = (u - x)*dt + 0.1*dW")
    s = driven.simulate(t, inputs={"time": [0, 1], "u": [5, 5]})
    assert s.names == ["x", "u"] and (s["u"] == 5).all()
    with pytest.raises(InputError):
        driven.simulate(t)


def test_field():
    model = Model("state x, y\ninput u\nparam s = 2 > 0\n"
                  "dx = (y*u + t)*dt + s*dW\ndy = -x*dt + 3*dW")
    x = np.random.default_rng(1).normal(size=(40, 3))
    f = model.field(x, time=2.0)
    assert np.allclose(f.drift, np.stack([x[:, 1] * x[:, 2] + 2, -x[:, 0]], 1))
    assert f.diffusion.shape == (40, 2, 2) and f.drift_sd is None
    assert (f.diffusion == [[2, 0], [0, 3]]).all()
    named = model.field({"u": x[:, 2], "y": x[:, 1], "x": x[:, 0]}, 2.0)
    assert (named.drift == f.drift).all()
    assert (model.field(x[0], 2.0).drift == f.drift[:1]).all()
    with pytest.raises(InputError, match=r"expected is \(n, 3\): x, y, u"):
        model.field(x[:, :2])


def test_paths_and_forecasts(ou, data):
    p = ou.paths(data, between=3, draws=2, quantiles=[0.25, 0.75])
    assert p.quantile.shape == (len(p.time), 1, 2)
    assert p.draw.shape == (len(p.time), 1, 2)
    rows = np.isin(p.time, data.time[:51]) & (p.track == 0)
    assert (p.mean[rows, 0] == data["x"][:51]).all()
    assert (p.quantile[:, 0, 0] <= p.quantile[:, 0, 1]).all()
    f = ou.predict(data, times=[11, 12], quantiles=[0.1, 0.9], draws=4096)
    ends = data.array[:, -1, 0]
    assert f.labels == data.labels and f.track.tolist() == [0, 0, 1, 1]
    for k, lead in enumerate((1, 2)):
        mean, var = ends * np.exp(-lead), -np.expm1(-2 * lead) / 2
        assert np.allclose(f.mean[k::2, 0], mean, atol=5 * (var / 4096)**0.5)
        assert np.allclose(f.sd[k::2, 0], var**0.5, rtol=0.1)
    assert f.quantile.shape == (4, 1, 2)
    assert (f.quantile[..., 0] < f.quantile[..., 1]).all()
    held = ou.predict(data, until=8.0)
    assert not np.isnan(held.actual).any()
    score = held.score[0]
    assert score["rows"] == len(held.time) and score["crps"] > 0
    early = girsanov.Series(data.time[:41], data.array[:, :41], ["x"])
    late = girsanov.Series(data.time[41:51], data.array[:, 41:], ["x"])
    rolling = ou.predict(data, rolling=2, draws=64)
    assert rolling.score["lead"].tolist() == [1, 2]
    assert rolling.time is None
    assert ou.predict(early, against=late).score["crps"] == held.score["crps"]


def test_tables_have_the_commands_names(ou, data):
    pytest.importorskip("pandas")
    assert list(ou.paths(data, quantiles=[0.025, 0.5]).frame().columns) == [
        "series", "time", "x_mean", "x_sd", "x_q2.5", "x_q50"]
    assert "x_q05" in ou.predict(data).frame().columns


GIL = """
import os, sys, threading, girsanov
model = girsanov.Model("state x\\ndx = -x*dt + dW")
def write():
    with open(sys.argv[1], "w") as pipe:
        pipe.write("time,x\\n0,0\\n1,1\\n")
threading.Thread(target=write).start()
print(model.loglik(sys.argv[1]).gaps)
"""


def test_other_threads_run_meanwhile(tmp_path):
    """The library waits for a pipe that another thread of Python fills: it
    would for ever, if that thread had to wait for the library."""
    os.mkfifo(tmp_path / "pipe")
    done = subprocess.run([sys.executable, "-c", GIL, tmp_path / "pipe"],
                          stdout=subprocess.PIPE, timeout=600, check=True)
    assert done.stdout.strip() == b"1"


def test_threads_may_share_a_model(ou, data):
    found = []
    threads = [threading.Thread(target=lambda: found.append(
        ou.loglik(data, threads=1).loglik)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [ou.loglik(data).loglik] * 4


@pytest.mark.parametrize("library, message", [
    ("/no/such.so", "GIRSANOV_LIBRARY: /no/such.so: cannot open"),
    ("stand-in", "is girsanov 9.9.9, but this Python package is for"),
])
def test_the_library_is_checked(library, message, tmp_path):
    if library == "stand-in":
        source, library = tmp_path / "s.c", tmp_path / "s.so"
        source.write_text('const char *gsv_version(void){return "9.9.9";}')
        if not shutil.which("cc"):
            pytest.skip("there is no compiler")
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library],
                       check=True)
    done = subprocess.run([sys.executable, "-c", "import girsanov"],
                          env={**os.environ, "GIRSANOV_LIBRARY": str(library)},
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode and message in done.stderr


def loglik_there(job):
    model, data = job
    return model.loglik(data, threads=4).loglik


def test_forked_processes_work(ou, data):
    """multiprocessing forks after this process has used its threads."""
    here = loglik_there((ou, data))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map_async(loglik_there, [(ou, data)] * 4)
        assert there.get(timeout=60) == [here] * 4


def test_select__finds_the_terms_of_the_data():
    m = girsanov.Model("state x\nparam s = 1 > 0\n"
                       "terms f(x) -> 1 : poly 2\ndx = f*dt + s*dW")
    truth = girsanov.Model("state x\ndx = (1 - 2*x)*dt + dW")
    data = truth.simulate(np.linspace(0, 60, 301), seed=2)
    found = m.select(data, errors="none", resamples=20)
    assert found.chosen == ["f.1", "f.x"]
    assert found.fit.params["f.x"] == found.coefficients["f.x"]["estimate"]
    assert "f.x^2" not in found.fit.params
    values = [c["value"] for c in found.candidates]
    assert values == sorted(values, reverse=True)
    assert found.candidates[0]["coefficients"] == found.chosen
    with pytest.raises(girsanov.InputError, match="no terms"):
        truth.select(data)

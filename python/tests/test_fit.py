# SPDX-License-Identifier: MIT
"""Learning: what comes out, how it is ended, kept and resumed."""
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import girsanov
from conftest import NET, OU, exact_ou
from girsanov import InputError, Model
from test_model import same

QUICK = dict(paths=1, steps=1, iterations=30, heldout=0)


def net_data():
    truth = Model("state x, y\ndx = (y - x)*dt + 0.3*dW\n"
                  "dy = (-2*x - y)*dt + 0.3*dW")
    return truth.simulate(np.linspace(0, 5, 41), tracks=3, x0="normal", seed=2)


def test_the_maximum_is_the_exact_one(ou, data):
    fit = ou.fit(data)
    h = 1e-3
    a, s = fit.params["a"], fit.params["s"]

    def exact(a, s):
        return sum(exact_ou(t, x[:, 0], a, s) for t, x in data.tracks())
    for da, ds in [(h, 0), (-h, 0), (0, h), (0, -h)]:
        assert exact(a + da, s + ds) < exact(a, s)
    assert fit.record.loglik == pytest.approx(exact(a, s), abs=1e-6)
    assert ou.params == {"a": 1.0, "s": 1.0}  # a fit is a model of its own
    low, high = fit.intervals["a"]
    assert low < a < high and fit.stderr["a"] > 0
    for word in "log-likelihood", "lbfgs: converged", "95 % interval", "\na  ":
        assert word in fit.summary()


def test_records_are_the_commands(ou, data, command, tmp_path):
    data.write(tmp_path / "d.csv")
    (tmp_path / "m.sde").write_text(OU)
    theirs = command("fit", tmp_path / "m.sde", tmp_path / "d.csv", "-o",
                     tmp_path / "a.fit", "-q", "--fix", "s=1.1")
    fit = ou.fit(tmp_path / "d.csv", fix={"s": 1.1})
    mine = vars(fit.record)
    for end, key in enumerate(("low", "high")):
        for name, value in theirs.pop(key).items():
            assert same(fit.intervals[name][end], value), (key, name)
    for key in "seconds", "fit":
        del theirs[key]
    for key, value in theirs.items():
        assert same(mine[key], value), key
    assert mine["params"]["s"] == 1.1
    loaded = girsanov.load(tmp_path / "a.fit")
    assert loaded.params == mine["params"]
    summary = command("summary", tmp_path / "a.fit", "-q")["params"]["a"]
    assert loaded.stderr["a"] == summary["stderr"]
    assert loaded.intervals["a"].tolist() == [summary["low"], summary["high"]]


NOISY = ("state x\nparam a = 1 > 0, s = 1 > 0\ndx = -a*x*dt + s*dW\n"
         "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1)")


def test_later_estimates_are_those_of_the_fit(tmp_path):
    model = Model(NOISY)
    data = model.simulate(np.linspace(0, 5, 26), seed=4)
    fit = model.fit(data, observe="guided", points=64, errors="none")
    fit.save(tmp_path / "a.fit")
    for f in fit, girsanov.load(tmp_path / "a.fit"):
        assert f.record.estimator == {"observe": "guided", "points": 64}
        found = f.loglik(data)
        assert found.observe == "guided" and found.paths == 64
        assert found.loglik == pytest.approx(f.record.loglik, rel=1e-12)
        assert f.loglik(data, observe="scan").paths == 32
        assert f.diagnose(data).likelihood.observe == "guided"
        assert len(f.paths(data).mean) == 26
        assert len(f.predict(data, times=[6]).mean) == 1
        assert f.fit(data, errors="none").record.estimator == {
            "observe": "guided", "points": 64}
    assert model.fit(data, errors="none").record.estimator == {}


def test_every_warning_is_a_sentence():
    model = Model("state x\nparam a = 1, b = 0.2, s = 1 > 0\n"
                  "dx = -(a + b)*x*dt + s*dW")
    with pytest.warns(girsanov.Caution):
        fit = model.fit(model.simulate(np.linspace(0, 5, 51), seed=3))
    assert fit.record.warnings and all(fit.record.warnings)
    assert not fit.summary().endswith("warning: ")


def test_starts_that_were_set_are_kept(data):
    def first(model):
        seen = []
        model.fit(data, optimizer="adam", rate=1e-9, errors="none",
                  progress=lambda p: seen.append(p.params["s"]) or False)
        return seen[0]
    assert first(Model(OU).set(s=0.7)) == pytest.approx(0.7, abs=1e-6)
    assert abs(first(Model(OU)) - 0.7) > 0.1  # the data's


def test_networks_and_files(tmp_path):
    data = net_data()
    fit = Model(NET).fit(data, **QUICK)
    assert fit.record.iterations == 30 and fit.record.optimizer == "soap"
    assert fit.params["f.0.weight"].shape == (8, 2)
    assert "weights of networks" in fit.summary()
    fit.save(tmp_path / "a.fit")
    again = girsanov.load(tmp_path / "a.fit")
    points = np.random.default_rng(1).normal(size=(50, 2))
    assert (again.field(points).drift == fit.field(points).drift).all()
    assert isinstance(Model.read(tmp_path / "a.fit"), girsanov.Fit)
    assert isinstance(again.copy(), girsanov.Fit)
    (tmp_path / "m.sde").write_text(NET)
    with pytest.raises(InputError, match="is a model's text, not a fit"):
        girsanov.load(tmp_path / "m.sde")
    more = again.fit(data, **QUICK)  # from where it was
    assert more.record.loglik > fit.record.loglik


def test_progress_can_end_it_and_resume_goes_on(tmp_path):
    data, told = net_data(), []
    whole = Model(NET).fit(data, **QUICK)
    checkpoint = tmp_path / "c.fit"

    def stop(p):
        told.append((p.iteration, p.iterations, p.loglik, p.seconds))
        return p.iteration < 12
    half = Model(NET).fit(data, progress=stop, checkpoint=checkpoint, **QUICK)
    assert [t[0] for t in told] == list(range(1, 13)) and told[0][1] == 30
    assert half.record.ended == "stopped" and half.record.iterations == 12
    for resume in half, checkpoint:
        rest = Model(NET).fit(data, resume=resume, **QUICK)
        assert (rest.theta == whole.theta).all()
    with pytest.raises(InputError, match="--rate"):
        Model(NET).fit(data, resume=half, rate=0.5, **QUICK)


def test_what_progress_raises_comes_out():
    def stop(p):
        if p.iteration == 3:
            raise LookupError("mine")
    with pytest.raises(LookupError, match="mine"):
        Model(NET).fit(net_data(), progress=stop, **QUICK)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupts_keep_the_state():
    """In this process: the signal comes while the library is at work."""
    data = net_data()

    def interrupt(p):
        if p.iteration == 9:
            os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as caught:
        Model(NET).fit(data, progress=interrupt, **QUICK)
    half = caught.value.fit
    assert half.record.iterations in (9, 10)
    whole = Model(NET).fit(data, **QUICK)
    rest = Model(NET).fit(data, resume=half, **QUICK)
    assert (rest.theta == whole.theta).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


CHILD = """
import sys, numpy as np, girsanov
sys.path.insert(0, sys.argv[1])
from test_fit import NET, net_data
def tell(p):
    if p.iteration == 5: print("ready", flush=True)
try:
    girsanov.Model(NET).fit(net_data(), iterations=10**9, progress=tell)
except KeyboardInterrupt as stop:
    stop.fit.save(sys.argv[2])
    print(stop)
    raise
"""


def test_control_c_from_outside(tmp_path):
    here = os.path.dirname(__file__)
    child = subprocess.Popen([sys.executable, "-c", CHILD, here,
                              tmp_path / "a.fit"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=600)
    assert "its fit can be resumed" in out and "KeyboardInterrupt" in err
    assert child.returncode == -signal.SIGINT  # shells look at that
    assert girsanov.load(tmp_path / "a.fit").record.ended == "stopped"


def test_own_handlers_of_signals_stay():
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))

    def send(p):
        if p.iteration == 2:
            os.kill(os.getpid(), signal.SIGINT)
    try:
        fit = Model(NET).fit(net_data(), progress=send, **QUICK)
        assert fit.record.ended == "iterations"
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [1]


def test_gibbs_has_draws(ou, data):
    with pytest.warns(girsanov.Caution):  # so few draws
        fit = ou.fit(data, method="gibbs", chains=2, warmup=10, draws=20,
                     priors={"a": ("gamma", 2, 2)})
    assert fit.draws.keys() == {"a", "s", "lp"}
    assert fit.draws["a"].shape == fit.draws["lp"].shape == (2, 20)
    assert fit.params["a"] == pytest.approx(fit.draws["a"].mean())
    assert fit.record.posterior["rhat"].keys() == {"a", "s"}
    with pytest.raises(InputError, match="expected one of normal, lognormal, "):
        ou.fit(data, method="gibbs", priors={"a": ("flat",)})
    assert ou.fit(data, fix="s").draws is None


def test_bootstrap_has_numbers_by_name(ou, data):
    fit = ou.fit(data, bootstrap=20)
    assert ou.fit(data).bootstrap is None
    assert set(fit.bootstrap) == {"corrected", "error", "low", "high"}
    assert fit.record.bootstraps == fit.record.refits == 20
    for name in ("a", "s"):
        b = {w: float(v[name]) for w, v in fit.bootstrap.items()}
        assert b["low"] < b["corrected"] < b["high"] and b["error"] > 0


def test_a_gp_knows_its_uncertainty():
    model = Model("state x\nparam s = 0.5 > 0\n"
                  "gp h(x) -> 1 : grid 12 rbf + linear\ndx = h*dt + s*dW")
    data = Model(OU).simulate(np.linspace(0, 10, 101), tracks=2, seed=3)
    fit = model.fit(data, errors="none")
    with pytest.warns(girsanov.Caution, match="1 of 2 points are outside"):
        sd = fit.field([0.0, 50.0]).drift_sd
    assert sd.shape == (2, 1) and (sd > 0).all()
    assert np.isfinite(fit.record.evidence)


def test_profile_is_below_the_maximum(ou, data):
    fit = ou.fit(data)
    a = fit.params["a"]
    best, high = fit.profile(data, "a", [a, 1.3 * a])
    assert best == pytest.approx(fit.record.loglik, abs=1e-4) and best > high
    with pytest.raises(InputError, match="did you mean|no parameter"):
        fit.profile(data, "b", [1])


def test_mistakes_leave_nothing_behind(ou, data):
    with pytest.raises(InputError, match="no parameter|does not have"):
        ou.fit(data, fix=["q"])
    with pytest.raises(TypeError, match="did you mean 'iterations'"):
        ou.fit(data, iteratons=3)
    with pytest.raises(InputError, match="optimizer sgd"):
        ou.fit(data, optimizer="sgd")

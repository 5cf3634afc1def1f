# SPDX-License-Identifier: MIT
"""Residuals and diagnoses are the command's, and see what is wrong."""
import numpy as np
import pytest

import girsanov


def exact_scores(series, a, s):
    """z of an Ornstein-Uhlenbeck process in closed form, track by track."""
    for time, x in series.tracks():
        dt, x = np.diff(time), x[:, 0]
        var = s * s * -np.expm1(-2 * a * dt) / (2 * a)
        yield from (x[1:] - x[:-1] * np.exp(-a * dt)) / np.sqrt(var)


def test_residuals_are_exact_for_a_linear_model(ou, data):
    left = ou.residuals(data)
    assert left.draws == 0 and left.names == ["x"]
    assert left.pit.shape == left.z.shape == (100, 1)
    assert np.allclose(left.z[:, 0], list(exact_scores(data, 1, 1)), atol=1e-8)
    assert (left.time[:50] == data.time[1:51]).all()
    assert (left.track == np.repeat([0, 1], 50)).all() and not left.wrong


def test_residuals_outlive_what_they_came_from(ou, data):
    z = ou.residuals(data).z
    kept = z.copy()
    del ou
    assert (z == kept).all()


def test_residuals_see_a_noise_that_is_too_small(ou, data):
    left = ou.copy().set(s=0.5).residuals(data)
    assert left.wrong == ["x"] and left.tests["x"]["sd"] > 1.5


def test_an_empty_cell_has_no_residual(ou):
    x = [0.1, np.nan, 0.3, 0.2]
    left = ou.residuals(([0, 1, 2, 3], x))
    assert np.isfinite(left.z).sum() == 2


def test_diagnose_is_the_command(ou, data, command, tmp_path):
    (tmp_path / "m.sde").write_text(ou.text)
    data.write(tmp_path / "d.csv")
    theirs = command("diagnose", tmp_path / "m.sde", tmp_path / "d.csv",
                     "--paths", 16, "--seed", 5)
    ours = ou.diagnose(data, paths=16, seed=5)
    assert ours.likelihood.loglik == theirs["loglik"]
    assert ours.flagged == theirs["flagged"]
    test = theirs["residuals"]["columns"]["x"]
    assert set(test) == set(ours.residuals.tests["x"])
    for name, value in test.items():
        assert np.array_equal(ours.residuals.tests["x"][name], value), name


def test_diagnose_has_a_row_for_every_gap(ou, data, command, tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "m.sde").write_text(ou.text)
    data.write(tmp_path / "d.csv")
    how = dict(paths=64, steps=2, **girsanov.PAPER)
    theirs = command("diagnose", tmp_path / "m.sde", tmp_path / "d.csv",
                     "--steps", 2, "--paper", "--set", "a=6")["gaps"]
    found = ou.set(a=6).diagnose(data, **how)
    table = found.frame().to_dict("records")
    assert len(table) == len(theirs) == 2 and found.flagged == 2
    for ours, gap in zip(table, theirs):
        assert ours.pop("flags").split() == gap.pop("flags")
        assert ours.keys() == gap.keys()
        assert all(ours[k] == v for k, v in gap.items() if v is not None)
    assert "2 gaps are not to be trusted" in str(found)
    assert f"series {data.labels[0]}, time 0 to 10: ess" in str(found)


def test_what_cannot_be_forecast_has_no_residuals():
    model = girsanov.Model("state x\ninput u\nparam s = 1 > 0\n"
                           "dx = (u - x)*dt + s*dW")
    data = {"time": [0, 1, 2], "x": [0.1, 0.2, 0.1], "u": [0, 1, 0]}
    assert model.diagnose(data).residuals is not None
    with pytest.raises(TypeError, match="no option 'delta'"):
        model.residuals(data, delta=True)


def test_a_bad_estimate_is_not_held_against_the_model():
    model = girsanov.Model("state x\nparam s = 1 > 0\ndx = -x*dt + s*dW\n"
                  "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 0.7)")
    data = model.simulate(np.linspace(0, 20, 201), seed=1)
    true = model.diagnose(data)
    assert true.reliable and true.model == "not contradicted"
    model.set(s=4)
    good, bad = model.diagnose(data), model.diagnose(data, observe="conjugate")
    assert good.reliable and good.model == "contradicted"
    assert not bad.reliable and bad.model == "undecided"
    assert "rows are not to be trusted" in str(bad)
    assert "not good enough to tell" in str(bad)

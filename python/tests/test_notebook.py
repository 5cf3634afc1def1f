# SPDX-License-Identifier: MIT
"""What notebooks show, figures, the bar, and interrupts at a prompt."""
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import girsanov
from conftest import NET, OU
from girsanov import Model, progress
from girsanov.figure import Figure, _ticks

PLANE = ("state x, y\nparam a = 1, s = 0.3 > 0\ndx = y*dt + s*dW1\n"
         "dy = (a*(1 - x^2)*y - x)*dt + s*dW2")
NOISY = OU + "obs y ~ normal(x, 0.3)\ninit x ~ normal(0, 1)\n"


def parsed(thing):
    """Its HTML is well-formed, and says no NaN."""
    text = thing._repr_html_()
    tree = xml.fromstring(text.replace("&ndash;", "-").replace("<br>", "")
                          .replace("&times;", "x"))
    drawn = [p.get("d") for p in tree.iter() if p.tag.endswith("path")]
    assert not any("nan" in d or "inf" in d for d in drawn if d)
    return tree, "".join(tree.itertext())


def tags(tree, name):
    return [e for e in tree.iter() if e.tag.rpartition("}")[2] == name]


@pytest.fixture
def fit(ou, data):
    return ou.fit(data)


def test_models_and_fits(ou, data, fit):
    tree, text = parsed(ou)
    assert len(tags(tree, "table")) == 1 and "dx = -a*x*dt + s*dW" in text
    tree, text = parsed(fit)
    assert len(tags(tree, "table")) == 2 and len(tags(tree, "svg")) == 1
    assert f"{fit.params['a']:.6g}" in text and "standard error" in text
    assert len(tags(parsed(data)[0], "svg")) == 1


def test_every_result(fit, data):
    for result, figures in [
            (fit.loglik(data), 0), (fit.field([0.0]), 0),
            (fit.paths(data, quantiles=[0.05, 0.95]), 1),
            (fit.predict(data, ahead=1), 1), (fit.residuals(data), 1),
            (fit.diagnose(data), 1), (fit.record, 0),
            (girsanov.look(data), 0)]:
        tree, text = parsed(result)
        assert text.startswith(type(result).__name__)
        assert len(tags(tree, "svg")) == figures
        assert tags(tree, "table") or tags(tree, "pre")


def test_names_are_escaped():
    series = girsanov.Series([0, 1], [1, 2], ["<script>"], ["&"])
    assert "<script>" not in series._repr_html_()
    parsed(series)


@pytest.mark.parametrize("y", [[], [1.0], [0, 0, 0], [np.nan] * 3,
                               [1e300, 2e300], [1, np.nan, 3], [1e-300, 0]])
def test_figures_of_anything(y):
    figure = Figure("x", "y")
    figure.line(range(len(y)), y)
    figure.dots(range(len(y)), y)
    figure.band(range(len(y)), y, y)
    text = figure.svg()
    xml.fromstring(text)
    assert "nan" not in text and "inf" not in text


@pytest.mark.parametrize("low, high", [(0, 1), (-1e-9, 1e9), (3.1, 3.2),
                                       (-70000, 12), (1e5, 1e5 + 1)])
def test_ticks_are_round(low, high):
    ticks = _ticks(low, high)
    assert 3 <= len(ticks) <= 7
    assert low <= ticks[0] and ticks[-1] <= high + 1e-9 * (high - low)


# --- Matplotlib ---


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot
    yield matplotlib.pyplot
    matplotlib.pyplot.close("all")


def test_plots_draw_what_the_model_says(pyplot, fit, data, tmp_path):
    x, y = fit.plot_field().lines[1].get_data()
    assert y == pytest.approx(fit.field(x).drift[:, 0])
    assert (x[0], x[-1]) == (data["x"].min(), data["x"].max())
    figure, axes = pyplot.subplots(2, 2)
    assert fit.plot_paths(between=2, ax=axes[0, 0]) is axes[0, 0]
    assert (axes[0, 0].lines[0].get_ydata()[::3]
            == pytest.approx(data.array[0, :, 0]))
    assert fit.plot(ax=axes) is axes
    assert all(ax.has_data() and ax.get_xlabel() for ax in axes.flat)
    fit.save(tmp_path / "a.fit")
    loaded = girsanov.load(tmp_path / "a.fit")
    assert loaded.plot_field().has_data()  # the record has the range
    with pytest.raises(girsanov.InputError, match=r"give them, plot\(data\)"):
        loaded.plot()
    assert loaded.plot(data).shape == (2, 2)


@pytest.mark.parametrize("text, words", [(PLANE, {}), (NOISY, {}),
                                         (PLANE, {"states": "y"})])
def test_plots_of_planes_and_hidden_states(pyplot, text, words):
    model = Model(text)
    data = model.simulate(np.linspace(0, 5, 41), seed=3)
    assert model.plot_field(data, **words).has_data()
    assert model.plot_paths(data).has_data()
    assert model.plot_residuals(data).has_data()
    with pytest.raises(girsanov.InputError, match="give data, or limits"):
        model.plot_field()
    with pytest.raises(girsanov.InputError, match="no state 'z'"):
        model.plot_paths(data, state="z")


def test_without_matplotlib(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plot_field.. needs Matplotlib"):
        fit.plot_field()


# --- The bar, and interrupts ---


@pytest.mark.parametrize("expected, line", [
    (50.0, "fit 3/100, -0.5 +- 0.01, ETA 16:10 min"),
    (20.4, "fit 3/40, -0.5 +- 0.01, ETA 6:10 min"),
    (np.nan, "fit 3/100, -0.5 +- 0.01, ETA 16:10 min")])
def test_text_of_the_bar(expected, line, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    bar = progress.Bar(late=0, kind=progress.Text)
    for i in range(1, 4):
        now[0] += 10
        bar.step(girsanov.Progress(
            iteration=i, iterations=50, expected=expected, restart=1,
            restarts=2, loglik=-0.5, error=0.01, heldout=np.nan))
    bar.phase("errors")
    bar.close()
    lines = capsys.readouterr().err.replace("\r", "\n").split("\n")
    assert any(shown.startswith(line) for shown in lines), lines
    assert progress.duration(12) == "12 s" and progress.duration(
        7800) == "2:10 h"


def test_a_bar_does_not_change_the_fit(fit, ou, data, capsys):
    assert ou.fit(data, progress=True).params == fit.params
    assert ou.fit(data, progress=False).params == fit.params


def test_interrupts_at_a_prompt_return_the_fit(monkeypatch):
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    data = Model(PLANE).simulate(np.linspace(0, 5, 41), seed=2)

    def interrupt(p):
        if p.iteration == 5:
            os.kill(os.getpid(), signal.SIGINT)
    quick = dict(paths=1, steps=1, iterations=20, heldout=0)
    with pytest.warns(girsanov.Interrupted, match="can be resumed") as caught:
        half = Model(NET).fit(data, progress=interrupt, **quick)
    assert caught[0].filename == __file__
    assert half.record.ended == "stopped" and half.record.iterations < 20
    rest = Model(NET).fit(data, resume=half, progress=False, **quick)
    whole = Model(NET).fit(data, progress=False, **quick)
    assert (rest.theta == whole.theta).all()


def test_paths_warn_as_the_command_does(ou, data):
    found = ou.paths(data, between=2)
    found.ess_min = 1.0
    with pytest.warns(girsanov.Caution, match="the bands are inaccurate"):
        girsanov.cautions.smoothed(ou, data, found)


def test_it_needs_nothing_but_numpy():
    """Neither Matplotlib nor tqdm nor pandas come with it."""
    code = ("import sys, girsanov; print([m for m in ('matplotlib', 'tqdm', "
            "'pandas', 'IPython') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], check=True,
                          stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[]\n"

# SPDX-License-Identifier: MIT
"""Functions of Python in a model, against the same model as a formula."""
import pickle

import numpy as np
import pytest

import girsanov
from girsanov import External

WELL = """state x
param a = 1, b = 1, s = 0.5 > 0
dx = (a*x - b*x^3)*dt + s*dW
"""
OWN = """state x
external f(x) -> 1
param s = 0.5 > 0
dx = f*dt + s*dW
"""


def value(x, p):
    return p[0] * x - p[1] * x ** 3


def vjp(x, p, bar):
    return bar * (p[0] - 3 * p[1] * x ** 2), np.array([np.sum(bar[:, 0] * x[:, 0]),
                           -np.sum(bar[:, 0] * x[:, 0] ** 3)])


def jvp(x, p, dot):
    return (p[0] - 3 * p[1] * x ** 2) * dot


CASES = {"value": External(value, start=[1, 1]),
         "vjp": External(value, vjp, start=[1, 1]),
         "all": External(value, vjp, jvp, start=[1, 1])}


@pytest.fixture
def well():
    return girsanov.Model(WELL).simulate(np.linspace(0, 20, 201), tracks=4,
                                         x0="normal", seed=2)


@pytest.mark.filterwarnings("ignore::girsanov.Caution")  # of few steps
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["ito", "stratonovich"])
def test_a_function_is_as_good_as_a_formula(case, form, well):
    own, formula = girsanov.Model(OWN, f=CASES[case]), girsanov.Model(WELL)
    options = dict(gradient=True, form=form, steps=4)
    ours, theirs = (m.loglik(well, **options) for m in (own, formula))
    assert ours.loglik == pytest.approx(theirs.loglik, rel=1e-9)
    for mine, name in (("f.p", ["a", "b"]), ("s", ["s"])):
        assert np.atleast_1d(ours.gradient[mine]) == pytest.approx(
            [theirs.gradient[n] for n in name], rel=1e-5)


def test_it_is_fitted_copied_pickled_and_simulated(well):
    model = girsanov.Model(OWN, f=CASES["all"])
    fit = model.fit(well, steps=4)
    reference = girsanov.Model(WELL).fit(well, steps=4)
    # The searches end within their tolerance, a small part of an error.
    for i, name in enumerate("ab"):
        assert fit.params["f.p"][i] == pytest.approx(
            reference.params[name], abs=0.05 * reference.stderr[name])
    for other in (fit.copy(), pickle.loads(pickle.dumps(fit))):
        assert other.field([[0.5]]).drift == fit.field([[0.5]]).drift
        assert other.simulate([0, 1], seed=3).values.tolist() == (
            fit.simulate([0, 1], seed=3).values.tolist())


def test_one_thread_and_four_give_the_same_bits(well):
    model = girsanov.Model(OWN, f=CASES["all"])
    one, four = (model.loglik(well, steps=4, threads=n) for n in (1, 4))
    assert one.loglik == four.loglik


def test_arguments_come_in_the_order_of_the_text():
    model = girsanov.Model("state x, y\ninput u\nexternal f(y, t, u, x*y) -> 2\n"
                           "dx = f[1]*dt + dW\ndy = f[2]*dt + dW",
                           f=lambda x, p: np.column_stack([x[:, 0], x[:, 3]]))
    assert model.field([[2.0, 3.0, 5.0]], time=7).drift.tolist() == [[3, 6]]


def test_a_plain_function_takes_its_size_from_the_text():
    model = girsanov.Model("state x\nexternal f(x) -> 1 : 2 parameters\n"
                           "dx = f*dt + dW", f=value)
    assert model.set(**{"f.p": [2, 1]}).field([2.0]).drift == -4


@pytest.mark.parametrize("function, words", [
    (3, "is a function, not int"),
    (External(lambda x, p: x, start=[np.nan]), "parameter"),
    (External(lambda x, p: x[:, :1], start=np.zeros(300)), "no vjp"),
])
def test_what_is_no_function_is_refused(function, words):
    with pytest.raises(girsanov.InputError, match=words):
        girsanov.Model(OWN, f=function)


def test_names_that_the_text_lacks_are_refused():
    with pytest.raises(girsanov.InputError, match="no external function 'g'"):
        girsanov.Model(OWN, g=value)


@pytest.mark.parametrize("wrong, words", [
    (lambda x, p: 1 / 0, "division"), (lambda x, p: x[:, [0, 0]], "has the shape")])
def test_what_a_function_raises_is_the_cause(wrong, words, well):
    model = girsanov.Model(OWN, f=wrong)
    with pytest.raises(girsanov.Error) as found:
        model.loglik(well, steps=4)
    assert words in str(found.value.__cause__)


def test_functions_are_freed():
    from girsanov.external import _given
    before = len(_given)
    model = girsanov.Model(OWN, f=CASES["all"])
    copy = model.copy()
    del model
    assert len(_given) == before + 1
    del copy
    assert len(_given) == before


@pytest.mark.parametrize("option, hint", [
    ("lr", "here it is rate="), ("learning_rate", "rate="),
    ("epochs", "iterations="), ("batch_size", "batch="),
    ("device", "threads="), ("verbose", "progress="),
    ("iteratons", "did you mean .iterations.")])
def test_habits_of_other_libraries_get_a_hint(option, hint, well):
    with pytest.raises(TypeError, match=hint):
        girsanov.Model(WELL).fit(well, **{option: 1})


def test_hints_name_options_that_exist():
    from girsanov import _header, _lib
    known = {n for kind in (_header.gsv_options, _header.gsv_fit_options)
             for n, _ in kind._fields_} | {"x0", "Model.set()"}
    assert set(_lib._HABITS.values()) <= known

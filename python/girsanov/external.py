# SPDX-License-Identifier: MIT
"""Functions of Python in a model: `external f(x) -> 1`."""
from __future__ import annotations

import ctypes
import itertools
import math
import re
from typing import Any, Callable, Sequence

import numpy as np

from . import _header, _lib
from ._lib import InputError, lib

Function = Callable[..., Any]


class External:
    """A function for a model, with its derivatives and parameters.

    value(x, p) is (n, outputs) at the points x (n, inputs) for the parameters p.
    vjp(x, p, f_bar) is the pair of the gradients (n, inputs) and (parameters) of
    sum(f_bar * value(x, p)); jvp(x, p, x_dot) is (n, outputs), the derivative in
    the direction x_dot. Derivatives that are missing are differences. start:
    the parameters where a fit begins. weights=True: they are learned as those of
    a network are; shapes are then those of their arrays.

    >>> from girsanov import Model
    >>> cubic = External(lambda x, p: p[0]*x - p[1]*x**3, start=[1, 1])
    >>> m = Model('''state x
    ... external f(x) -> 1
    ... param s = 0.5 > 0
    ... dx = f*dt + s*dW''', f=cubic)
    >>> m.field([2.0]).drift
    array([[-6.]])
    """

    def __init__(self, value: Function, vjp: Function | None = None,
                 jvp: Function | None = None, start: Any = (),
                 weights: bool = False,
                 shapes: Sequence[tuple[int, ...]] | None = None):
        if not callable(value):
            raise InputError("the value of an external is a function, not "
                             f"{type(value).__name__}")
        self.value, self.vjp, self.jvp = value, vjp, jvp
        self.start = np.array(start, float).reshape(-1)
        self.weights, self.shapes = weights, shapes


def as_external(thing: Any) -> External:
    """A function alone, or a module of PyTorch, is one, too."""
    if isinstance(thing, External):
        return thing
    if hasattr(thing, "named_parameters") and callable(thing):
        from .torch import external
        return external(thing)
    return External(thing)


# --- Calls from C ------------------------------------------------------------


class _Given:
    """An external with the sizes of its text. C knows it by a number."""

    def __init__(self, e: External, inputs: int, outputs: int):
        self.e, self.inputs, self.outputs = e, inputs, outputs


_given: dict[int, _Given] = {}
_numbers = itertools.count(1)


def _array(address: int, *shape: int) -> np.ndarray:
    """C's array (shape) at an address, without a copy."""
    size = math.prod(shape)
    if not size:
        return np.empty(shape)
    memory: Any = (ctypes.c_double * size).from_address(address)
    return np.frombuffer(memory).reshape(shape)


def _checked(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    array = np.asarray(values, float)
    if array.ndim == 1 and len(shape) == 2 and shape[1] == 1:
        array = array[:, None]
    if array.shape != shape:
        raise InputError(f"{what} has the shape {array.shape} instead of "
                         f"{shape}")
    return array


def _guarded(call: Callable[..., None]) -> Callable[..., None]:
    """What a function raises is the cause of the error that NaN leads to."""
    def run(*arguments: Any) -> None:
        try:
            call(*arguments)
        except BaseException as error:  # C cannot pass it on
            if not _lib.raised:
                _lib.raised.append(error)
    return run


@_guarded
def _value(user: int, n: int, x: int, p: int, f: int) -> None:
    g = _given[user]
    out = _array(f, g.outputs, n)
    out[:] = np.nan
    out[:] = _checked(g.e.value(_array(x, g.inputs, n).T,
                                _array(p, len(g.e.start))),
                      (n, g.outputs), "a value").T


@_guarded
def _vjp(user: int, n: int, x: int, p: int, f_bar: int, x_bar: int | None,
         p_bar: int | None) -> None:
    g = _given[user]
    assert g.e.vjp
    to_x = _array(x_bar, g.inputs, n) if x_bar else np.zeros((g.inputs, n))
    to_p = (_array(p_bar, len(g.e.start)) if p_bar
            else np.zeros(len(g.e.start)))
    try:
        of_x, of_p = g.e.vjp(_array(x, g.inputs, n).T,
                             _array(p, len(g.e.start)),
                             _array(f_bar, g.outputs, n).T)
        to_x += _checked(of_x, (n, g.inputs), "vjp's gradient by x").T
        to_p += _checked(of_p, to_p.shape, "vjp's gradient by p")
    except BaseException:
        to_x[:], to_p[:] = np.nan, np.nan
        raise


@_guarded
def _jvp(user: int, n: int, x: int, p: int, x_dot: int, f_dot: int) -> None:
    g = _given[user]
    assert g.e.jvp
    out = _array(f_dot, g.outputs, n)
    out[:] = np.nan
    out[:] = _checked(g.e.jvp(_array(x, g.inputs, n).T,
                              _array(p, len(g.e.start)),
                              _array(x_dot, g.inputs, n).T),
                      (n, g.outputs), "jvp").T


def _release(user: int) -> None:
    _given.pop(user, None)


_KIND: dict[str, Any] = dict(_header.gsv_callback._fields_)
_VALUE, _VJP = _KIND["value"](_value), _KIND["vjp"](_vjp)
_JVP, _RELEASE = _KIND["jvp"](_jvp), _KIND["release"](_release)


# --- Giving ------------------------------------------------------------------


def _set_shapes(c: Any, e: External) -> Any:
    """Rows and columns of each array of weights."""
    shapes = [(s[0] if s else 1, math.prod(s[1:])) for s in e.shapes or ()]
    flat = (ctypes.c_size_t * max(2 * len(shapes), 1))(
        *itertools.chain(*shapes))
    c.arrays, c.shape = len(shapes), flat
    return flat


def give(model: Any, name: str, thing: Any) -> External:
    """Model.external()"""
    e, sizes = as_external(thing), [ctypes.c_size_t() for _ in range(3)]
    _lib.check(lib.gsv_model_external_size(
        model, _lib.coded(name), *map(ctypes.addressof, sizes)))
    inputs, outputs, parameters = (size.value for size in sizes)
    if parameters and not len(e.start):
        e = External(e.value, e.vjp, e.jvp, np.zeros(parameters), e.weights)
    c, number = _header.gsv_callback(), next(_numbers)
    keep = _set_shapes(c, e)
    c.inputs, c.outputs, c.parameters = inputs, outputs, len(e.start)
    c.parameter = e.start.ctypes.data_as(_KIND["parameter"])
    c.weights, c.user, c.value, c.release = e.weights, number, _VALUE, _RELEASE
    if e.vjp:
        c.vjp = _VJP
    if e.jvp:
        c.jvp = _JVP
    _given[number] = _Given(e, inputs, outputs)
    status = lib.gsv_model_external(model, _lib.coded(name), ctypes.byref(c))
    del keep
    if status:
        _release(number)
    _lib.check(status)
    return e


def learned(model: Any, name: str, size: int) -> np.ndarray:
    """The numbers of an external function, which are to be so many."""
    values = [np.ravel(v) for n, v in model.params.items()
              if re.fullmatch(re.escape(name) + r"\.p\d*", n)]
    flat = np.concatenate([*values, np.zeros(0)])
    if flat.size != size:
        raise InputError(f"'{name}' has {flat.size} parameters, but what they "
                         f"are for has {size}")
    return flat

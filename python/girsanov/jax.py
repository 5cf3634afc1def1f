# SPDX-License-Identifier: MIT
"""JAX: a function of JAX as a function of a model, and the log-likelihood in
any loss."""
from __future__ import annotations

from typing import Any, Callable

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from ._lib import InputError
from .data import Data
from .external import External, learned
from .model import Model

# --- A function of a model ----------------------------------------------------


def _double(params: Any) -> Any:
    """The same tree in double precision: arrays of many libraries are not."""
    return jax.tree_util.tree_map(lambda a: jax.numpy.asarray(a, float), params)


class _Calls:
    """function(params, x) and its derivatives, by a flat vector p for params."""

    def __init__(self, function: Callable[..., Any], params: Any):
        self.function, self.params = function, params
        _, back = ravel_pytree(params)

        def f(x: Any, p: Any) -> Any:
            y = function(back(p), x)
            return y[:, None] if y.ndim == 1 else y

        self.value = jax.jit(f)
        self.vjp = jax.jit(lambda x, p, bar: jax.vjp(f, x, p)[1](bar))
        self.jvp = jax.jit(lambda x, p, dot: jax.jvp(
            lambda at: f(at, p), (x,), (dot,))[1])

    def __reduce__(self) -> Any:
        return _Calls, (self.function, self.params)


class _Call:
    """One of the functions of a _Calls, which pickle knows by its name."""

    def __init__(self, calls: _Calls, name: str):
        self.calls, self.name = calls, name

    def __call__(self, *arrays: Any) -> Any:
        return getattr(self.calls, self.name)(*arrays)


def external(function: Callable[..., Any], params: Any = (),
             weights: bool = True) -> External:
    """function(params, x) from x (n, inputs) to (n, outputs) as a function of a
    model: ``Model(text, f=external(function, params))``. params: any tree of
    arrays, where a fit begins; ``to_params()`` gives what was learned.
    weights=False: they have standard errors, as parameters of formulas have."""
    if not jax.config.jax_enable_x64:
        raise InputError("JAX computes in single precision, which is too little "
                         "for a likelihood; say "
                         "jax.config.update('jax_enable_x64', True) at first")
    params = _double(params)
    flat, _ = ravel_pytree(params)
    calls = _Calls(function, params)
    shapes = [np.shape(a) for a in jax.tree_util.tree_leaves(params)]
    return External(_Call(calls, "value"), _Call(calls, "vjp"),
                    _Call(calls, "jvp"), np.asarray(flat),
                    weights and bool(shapes), shapes if weights else None)


def to_params(model: Model, name: str, params: Any) -> Any:
    """What a fit has learned for an external function, as a tree like params,
    from which it was made, in double precision."""
    flat, back = ravel_pytree(_double(params))
    return back(jax.numpy.asarray(learned(model, name, flat.size)))


# --- The log-likelihood -------------------------------------------------------


def loglik(theta: Any, model: Model, data: Data, **options: Any) -> Any:
    """log p(data) of a model at theta (``model.theta``: its numbers without
    bounds), with a gradient by theta. options: those of ``Model.loglik``. Data
    are read once where ``model.data(data)`` is given."""
    def call(at: Any) -> Any:
        model.theta = np.asarray(at, float)
        found = model.loglik(data, gradient=True, **options)
        return (np.asarray(found.loglik, at.dtype),
                np.asarray(found.theta_gradient, at.dtype))

    def forward(at: Any) -> Any:
        return jax.pure_callback(call, (
            jax.ShapeDtypeStruct((), at.dtype),
            jax.ShapeDtypeStruct(at.shape, at.dtype)), at)

    value = jax.custom_vjp(lambda at: forward(at)[0])
    value.defvjp(forward, lambda slope, bar: (bar * slope,))
    return value(jax.numpy.asarray(theta))

# SPDX-License-Identifier: MIT
"""What girsanov.jax needs of JAX, made of NumPy: complex steps for derivatives.
It stands in where JAX is not installed. `grad` is for functions that are one
custom_vjp and a constant."""
import sys
import types

import numpy as np

_STEP = 1e-30


def jvp(f, at, dot):
    """By a complex step: right to rounding for analytic functions."""
    moved = [a + 1j * _STEP * d for a, d in zip(at, dot)]
    y = f(*moved)
    return np.real(y), np.imag(y) / _STEP


def vjp(f, *at):
    def back(bar):
        slopes = []
        for i, a in enumerate(at):
            slope = np.zeros(np.shape(a))
            for k in np.ndindex(slope.shape):
                dots = [np.zeros(np.shape(b)) for b in at]
                dots[i][k] = 1.0
                slope[k] = np.sum(bar * jvp(f, at, dots)[1])
            slopes.append(slope)
        return tuple(slopes)
    return f(*at), back


class custom_vjp:
    last = None

    def __init__(self, f):
        self.f = f

    def defvjp(self, forward, backward):
        self.forward, self.backward = forward, backward

    def __call__(self, at):
        value, kept = self.forward(at)
        custom_vjp.last = lambda: self.backward(kept, 1.0)[0]
        return value


def grad(f):
    def slope(at):
        f(at)
        return custom_vjp.last()
    return slope


def pure_callback(call, shapes, *given):
    found = call(*given)
    for array, shape in zip(found, shapes):
        assert np.shape(array) == shape.shape and array.dtype == shape.dtype
    return found


class ShapeDtypeStruct:
    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def tree_leaves(tree):
    """Names of dictionaries in order, as JAX has them."""
    if isinstance(tree, dict):
        tree = [tree[name] for name in sorted(tree)]
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in tree_leaves(part)]
    return [tree]


def tree_map(f, tree):
    if isinstance(tree, dict):
        return {name: tree_map(f, part) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(tree_map(f, part) for part in tree)
    return f(tree)


def ravel_pytree(tree):
    leaves = tree_leaves(tree)
    kind = leaves[0].dtype if leaves else float
    flat = np.concatenate([np.ravel(a) for a in leaves] + [np.zeros(0, kind)])

    def back(p):
        # JAX wants the precision that it was made from.
        assert np.real(p).dtype == flat.dtype, (p.dtype, flat.dtype)

        def build(part, at):
            if isinstance(part, dict):
                made = {}
                for name in sorted(part):
                    made[name], at = build(part[name], at)
                return made, at
            if isinstance(part, (list, tuple)):
                made = []
                for one in part:
                    value, at = build(one, at)
                    made.append(value)
                return type(part)(made), at
            size = np.size(part)
            return p[at:at + size].reshape(np.shape(part)), at + size
        return build(tree, 0)[0]
    return flat, back


def modules():
    """For sys.modules."""
    jax = types.ModuleType("jax")
    for name in ("jvp", "vjp", "grad", "custom_vjp", "pure_callback",
                 "ShapeDtypeStruct"):
        setattr(jax, name, getattr(sys.modules[__name__], name))
    jax.jit = lambda f: f
    jax.numpy = np
    jax.config = types.SimpleNamespace(jax_enable_x64=False)
    jax.config.update = lambda name, value: setattr(jax.config, name, value)
    jax.tree_util = types.SimpleNamespace(tree_leaves=tree_leaves,
                                          tree_map=tree_map)
    flatten_util = types.ModuleType("jax.flatten_util")
    flatten_util.ravel_pytree = ravel_pytree
    jax.flatten_util = flatten_util
    return {"jax": jax, "jax.numpy": np, "jax.flatten_util": flatten_util}

# SPDX-License-Identifier: MIT
"""PyTorch: a module as a function of a model, a network of a fit as a module,
and the log-likelihood in any loss."""
from __future__ import annotations

import copy
import re
import threading
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ._lib import InputError
from .data import Data
from .external import External, learned
from .model import Model

# --- A module as a function of a model ---------------------------------------

class _Calls:
    """A copy of a module in double precision. Its weights are those of the
    call, so threads take turns."""

    def __init__(self, module: torch.nn.Module):
        self.module = copy.deepcopy(module).double()
        self.weights = list(self.module.parameters())
        self.turn = threading.Lock()

    def __reduce__(self) -> Any:
        return _Calls, (self.module,)

    def run(self, x: np.ndarray, p: np.ndarray, slope: bool) -> Any:
        """The inputs and the outputs."""
        if self.weights:
            vector_to_parameters(torch.tensor(p), self.weights)
        at = torch.tensor(np.ascontiguousarray(x), requires_grad=slope)
        f = self.module(at)
        return at, f[:, None] if f.ndim == 1 else f

    def value(self, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        with self.turn, torch.no_grad():
            return self.run(x, p, False)[1].numpy()

    def vjp(self, x: np.ndarray, p: np.ndarray, f_bar: np.ndarray) -> Any:
        with self.turn, torch.enable_grad():
            at, f = self.run(x, p, True)
            bar = torch.tensor(np.ascontiguousarray(f_bar))
            slopes = torch.autograd.grad(f, [at, *self.weights], bar,
                                         allow_unused=True)
            flat = [torch.zeros_like(w) if g is None else g
                    for w, g in zip([at, *self.weights], slopes)]
            of_p = [g.reshape(-1) for g in flat[1:]]
            return (flat[0].numpy(),
                    torch.cat(of_p).numpy() if of_p else np.zeros(0))

    def jvp(self, x: np.ndarray, p: np.ndarray, x_dot: np.ndarray) -> Any:
        """The derivative by v of the gradient J' v, which is linear in v."""
        with self.turn, torch.enable_grad():
            at, f = self.run(x, p, True)
            v = torch.zeros_like(f, requires_grad=True)
            back, = torch.autograd.grad(f, at, v, create_graph=True)
            dot = torch.tensor(np.ascontiguousarray(x_dot))
            return torch.autograd.grad(back, v, dot)[0].numpy()

def external(module: torch.nn.Module) -> External:
    """A module from (n, inputs) to (n, outputs) as a function of a model; a
    model is given the module itself, too: ``Model(text, f=module)``. The module
    stays as it is; ``to_module()`` puts what was learned into it. A module must
    treat the rows of a batch one by one and alike: dropout and batch
    normalisation do not."""
    if any(isinstance(m, torch.nn.modules.batchnorm._BatchNorm)
           or (isinstance(m, torch.nn.modules.dropout._DropoutNd) and m.p)
           for m in module.modules()):
        raise InputError("a module with dropout or batch normalisation is no "
                         "function: remove these layers")
    calls = _Calls(module)
    if not calls.weights:
        return External(calls.value, calls.vjp, calls.jvp)
    with torch.no_grad():
        start = parameters_to_vector(calls.weights).numpy().copy()
    return External(calls.value, calls.vjp, calls.jvp, start, weights=True,
                    shapes=[tuple(w.shape) for w in calls.weights])

def to_module(model: Model, name: str, module: torch.nn.Module) -> Any:
    """Puts the weights that a fit has learned for an external function into the
    module that it was made from. Returns the module."""
    weights = list(module.parameters())
    flat = learned(model, name, sum(w.numel() for w in weights))
    with torch.no_grad():
        for w in weights:
            part, flat = np.split(flat, [w.numel()])
            w.copy_(torch.tensor(part).reshape(w.shape))
    return module

# --- A network of a fit as a module ------------------------------------------

_LAYERS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh,
           "softplus": torch.nn.Softplus, "silu": torch.nn.SiLU}

class Network(torch.nn.Module):
    """A network of a model with its scales: from its arguments (n, inputs), in
    the units of the data, to its values (n, outputs), in double precision."""

    input_mean: torch.Tensor
    input_scale: torch.Tensor
    output_mean: torch.Tensor
    output_scale: torch.Tensor

    def __init__(self, params: Any, name: str, activation: str):
        super().__init__()
        depth, layers = 0, []
        while f"{name}.{depth}.weight" in params:
            weight = torch.tensor(params[f"{name}.{depth}.weight"])
            outputs, inputs = weight.shape
            linear = torch.nn.Linear(inputs, outputs).double()
            with torch.no_grad():
                linear.weight.copy_(weight)
                linear.bias.copy_(torch.tensor(params[f"{name}.{depth}.bias"]))
            layers += [_LAYERS[activation](), linear] if depth else [linear]
            depth += 1
        self.layers = torch.nn.Sequential(*layers)
        for part in ("input_mean", "input_scale", "output_mean",
                     "output_scale"):
            self.register_buffer(part, torch.tensor(
                np.atleast_1d(params[f"{name}.{part}"])))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, inputs) to (n, outputs)."""
        inside = (x - self.input_mean) / self.input_scale
        return self.output_mean + self.output_scale * self.layers(inside)

def network(model: Model, name: str) -> Network:
    """Model.to_torch()"""
    params = model.params
    if f"{name}.0.weight" not in params or f"{name}.input_mean" not in params:
        known = [n[:-len(".input_mean")] for n in params
                 if n.endswith(".input_mean")]
        raise InputError(f"the model has no network '{name}'"
                         + (f"; it has {', '.join(known)}" if known else ""))
    text = re.sub("#.*", "", model.text)
    said = re.search(rf"\bnet\s+{re.escape(name)}\s*\(.*?->[^:\n]*:([^\n]*)",
                     text, re.S)
    words = said.group(1).split() if said else []
    return Network(params, name, next((w for w in words if w in _LAYERS),
                                      "silu"))

# --- The log-likelihood ------------------------------------------------------

class _LogLik(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *given: Any, **_: Any) -> Any:
        theta, model, data, options = given
        model.theta = theta.detach().cpu().double().numpy()
        found = model.loglik(data, gradient=True, **options)
        assert found.theta_gradient is not None
        ctx.save_for_backward(theta.new_tensor(found.theta_gradient))
        return theta.new_tensor(found.loglik)

    @staticmethod
    def backward(ctx: Any, *bar: torch.Tensor) -> Any:
        slope, = ctx.saved_tensors
        return bar[0] * slope, None, None, None

def loglik(theta: torch.Tensor, model: Model, data: Data,
           **options: Any) -> torch.Tensor:
    """log p(data) of a model at theta (``model.theta``: its numbers without
    bounds), a tensor with a gradient by theta. options: those of
    ``Model.loglik``. Data are read once where ``model.data(data)`` is given."""
    return _LogLik.apply(theta, model, data, options)

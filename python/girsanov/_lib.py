# SPDX-License-Identifier: MIT
"""The C library: finding it, its failures as exceptions, options and results
as Python has them. What is in its structs is in _header.py."""
from __future__ import annotations

import ctypes
import operator
import os
import pathlib
import sys
import weakref
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Mapping

import numpy as np

from . import _header

# --- Failure -----------------------------------------------------------------


class Error(Exception):
    """A failure of the library, with its message."""


class InputError(Error, ValueError):
    """A model, a file, an option or an argument is wrong."""


class NumericalError(Error, ArithmeticError):
    """A value was not finite."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class Stopped(Error):
    """The caller or a time limit stopped it."""


class Caution(UserWarning):
    """A result cannot be trusted."""


class Interrupted(Caution):
    """A fit was ended by Ctrl-C, and is what was learned until then."""


_ERRORS = {"bad-input": InputError, "numerical": NumericalError,
           "no-memory": OutOfMemory, "stopped": Stopped}

# --- Finding it --------------------------------------------------------------


def _places() -> Iterable[str]:
    """Where the library may be, the most particular first."""
    here = pathlib.Path(__file__).resolve().parent
    yield str(here / "libgirsanov.so")  # a wheel that carries it
    if (here.parents[1] / "include" / "girsanov.h").exists():  # a checkout
        yield str(here.parents[1] / "build" / "libgirsanov.so")
    for prefix in dict.fromkeys((sys.prefix, "/usr/local", "/usr")):
        yield os.path.join(prefix, "lib", "libgirsanov.so")
    yield "libgirsanov.so." + _header.VERSION.split(".")[0]  # the loader's way


def _open(path: str) -> ctypes.CDLL:
    lib = ctypes.CDLL(path)
    lib.gsv_version.restype = ctypes.c_char_p
    version = lib.gsv_version().decode()
    if version != _header.VERSION:
        raise ImportError(
            f"{path} is girsanov {version}, but this Python package is for "
            f"{_header.VERSION}; install both from the same source")
    return lib


def _find() -> ctypes.CDLL:
    given = os.environ.get("GIRSANOV_LIBRARY")
    if given:
        try:
            return _open(given)
        except OSError as why:
            raise ImportError(f"GIRSANOV_LIBRARY: {why}") from None
    problem = "was not found"
    for place in _places():
        if os.path.exists(place) or not os.path.isabs(place):
            try:
                return _open(place)
            except OSError as why:
                if os.path.exists(place):
                    problem = f"cannot be loaded: {why}"
    raise ImportError(
        f"libgirsanov.so {problem}; build it with 'make' in Girsanov's "
        "source and install it with 'make install', or say where it is with "
        "GIRSANOV_LIBRARY=/path/to/libgirsanov.so")


lib = _find()
for _name, (_result, _arguments) in _header.FUNCTIONS.items():
    _function = getattr(lib, _name)
    _function.restype, _function.argtypes = _result, _arguments


#: What functions that C called have raised, since the last failure.
raised: list[BaseException] = []


def failure() -> Error:
    """This thread's last failure as an exception; its cause is what a function
    of an external raised."""
    status = word("gsv_status", lib.gsv_last_status())
    error = _ERRORS[status](lib.gsv_last_error().decode(errors="replace"))
    if raised:
        error.__cause__ = raised[0]
        raised.clear()
    return error


def check(status: int) -> None:
    if status:
        raise failure()


def made(pointer: Any) -> Any:
    if not pointer:
        raise failure()
    return pointer


# --- Words -------------------------------------------------------------------


def word(enum: str, value: int) -> str:
    """The word of an enum's value."""
    return next(w for w, v in _header.ENUMS[enum].items() if v == value)


def suggestion(text: str, known: Iterable[str]) -> str:
    """"; did you mean 'x'?", or nothing."""
    texts = Texts(known)
    best = lib.gsv_suggestion(coded(text), len(texts), texts)
    return f"; did you mean '{best.decode()}'?" if best else ""


#: Options of other libraries, and ours.
_HABITS = {
    "lr": "rate", "learning_rate": "rate", "eta": "rate",
    "epochs": "iterations", "n_epochs": "iterations", "steps_per_epoch":
    "iterations", "max_iter": "iterations", "maxiter": "iterations",
    "n_iter": "iterations", "num_iterations": "iterations",
    "batch_size": "batch", "weight_decay": "decay", "grad_clip": "clip",
    "validation_split": "heldout", "val_split": "heldout",
    "early_stopping": "patience", "random_state": "seed", "rng": "seed",
    "n_jobs": "threads", "num_workers": "threads", "num_threads": "threads",
    "n_particles": "paths", "Np": "paths", "n_samples": "paths",
    "num_samples": "draws", "n_chains": "chains", "num_chains": "chains",
    "tol": "tolerance", "x_0": "x0", "callback": "progress",
    "callbacks": "progress", "init": "Model.set()"}
_HABITS_IN_WORDS = {
    "device": "all runs on the processor: threads= has the number",
    "gpu": "all runs on the processor: threads= has the number",
    "dtype": "numbers are double, weights of networks float32; "
             "wide=True changes the latter",
    "verbose": "progress=False shows no bar, progress=FUNCTION calls yours",
    "loss": "objective= has others than the likelihood"}


def habit(name: str) -> str:
    """What an option of another library is called here, or nothing."""
    if name in _HABITS:
        ours = _HABITS[name]
        return f"; here it is {ours}" + ("" if "(" in ours else "=")
    return f"; {_HABITS_IN_WORDS[name]}" if name in _HABITS_IN_WORDS else ""


class Texts:
    """A list of texts as char **."""

    def __init__(self, texts: Iterable[str]):
        words = [coded(str(t)) for t in texts]
        self.array = (ctypes.c_char_p * max(len(words), 1))(*words)
        self.count = len(words)
        self._as_parameter_ = ctypes.cast(self.array, ctypes.c_void_p)

    def __len__(self) -> int:
        return self.count


def texts_at(pointer: Any, count: int) -> list[str]:
    return [pointer[i].decode(errors="replace") for i in range(count)]


def taken_text(address: Any) -> str:
    """A text that the library leaves to its caller."""
    text = ctypes.string_at(made(address)).decode(errors="replace")
    lib.gsv_text_free(ctypes.c_char_p(address))
    return text


def _whole(text: bytes) -> bytes:
    """For C a text would end with its first zero byte."""
    if b"\0" in text:
        raise InputError(f"{text[:40].decode(errors='replace')!r} has a zero "
                         "byte in it")
    return text


def coded(text: str) -> bytes:
    return _whole(text.encode())


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    return _whole(os.fsencode(path))


# --- Options -----------------------------------------------------------------


# What a struct of options points to.
Keep = list[Any]


def _number(struct: ctypes.Structure, name: str, kind: Any, value: Any) -> Any:
    """The value as its field takes it; ctypes would wrap a -1 around."""
    if name in struct.enums:
        known = _header.ENUMS[struct.enums[name]]
        if value in known:
            return known[value]
        raise InputError(f"{name} {value}: expected "
                         f"{', '.join(list(known)[:-1])} or {list(known)[-1]}")
    try:
        if kind is ctypes.c_bool:
            return bool(value)
        if kind is ctypes.c_double:
            return float(value)
        if kind is ctypes.c_char_p:
            return path_bytes(value)
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} {value!r}: expected a number") from None
    if not 0 <= number < 1 << 8 * ctypes.sizeof(kind):
        raise InputError(f"{name} {value}: expected a whole number of at least 0")
    return number


def _set_array(struct: ctypes.Structure, name: str, value: Any,
               keep: Keep) -> None:
    """A pointer and its count."""
    kind, count = dict(struct._fields_)[name], struct.shapes[name][0]
    if kind is ctypes.POINTER(ctypes.c_char_p):
        array: Any = Texts(value)
        pointer = ctypes.cast(array.array, kind)
    else:
        array = np.ascontiguousarray(value, float).reshape(-1)
        pointer = array.ctypes.data_as(kind)
    keep.append(array)
    setattr(struct, name, pointer)
    if hasattr(struct, count):
        setattr(struct, count, len(array))


def fill(struct: ctypes.Structure, given: Mapping[str, Any], verb: str,
         keep: Keep) -> None:
    """Sets the fields of an option struct, and of its estimator,
    by their names. What the struct points to is added to keep. An array has
    two names, its own and that of its count: times is time."""
    inside = getattr(struct, "estimator", None)
    arrays = {shape[0]: name for name, shape in struct.shapes.items()
              if len(shape) == 1}
    for name, value in given.items():
        home = inside if inside is not None and not hasattr(
            struct, name) else struct
        if value is None:
            continue
        if not hasattr(home, name):
            known = [f for f, _ in struct._fields_ + getattr(
                inside, "_fields_", [])]
            raise TypeError(f"{verb}() has no option '{name}'"
                            + (habit(name) or suggestion(name, known)))
        if home is struct and (name in struct.shapes or name in arrays):
            _set_array(struct, arrays.get(name, name), value, keep)
        else:
            kind = dict(home._fields_)[name]
            setattr(home, name, _number(home, name, kind, value))


# --- Options of a fit --------------------------------------------------------


def asked(model: Any) -> dict[str, Any]:
    """The estimator's options that a fit was given, by name."""
    record = lib.gsv_model_record(model)
    if not record:
        return {}
    options = record.contents.estimator
    return {name: value for name, value in fields(options, None).items()
            if getattr(options, name)}


def recalled(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options for a model: those that were given, and else those of its fit. A
    step and a number of steps replace each other, and points belong to one
    estimator."""
    said = {name: v for name, v in given.items() if v is not None}
    own = asked(model)
    if "step" in said or "steps" in said:
        own = {n: v for n, v in own.items() if n not in ("step", "steps")}
    if said.get("observe", own.get("observe")) != own.get("observe"):
        own.pop("points", None)
    return {**own, **given, **said}


def recalled_scan(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same for paths, which need an estimator that knows the laws of latent
    states and have their own number of paths."""
    own = asked(model)
    merged = recalled(model, given)
    names = {"paths"}
    if own.get("observe", "scan") not in ("scan", "kalman", "guided"):
        names |= {"observe", "points"}
    return {n: v for n, v in merged.items()
            if n not in names or given.get(n) is not None}


def recalled_points(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The same for forecasts, which use the estimator, its points and steps."""
    own = recalled_scan(model, {})
    said = {name: v for name, v in given.items() if v is not None}
    if said.get("observe", own.get("observe")) != own.get("observe"):
        own = {}
    names = ("observe", "points", "steps")
    return {**{n: own[n] for n in names if n in own}, **given, **said}


# --- Memory ------------------------------------------------------------------


class Owner:
    """C memory that is freed when no Python object uses it."""

    def __init__(self, struct: Any, free: Callable, *keep: Any):
        self.struct, self.keep = struct, keep
        weakref.finalize(self, free, struct)


class _Memory:
    """An array in C memory, with what keeps it alive."""

    def __init__(self, owner: Any, interface: dict):
        self.owner, self.__array_interface__ = owner, interface


def view(owner: Any, pointer: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The C array (shape) at a pointer, without a copy."""
    dtype = np.dtype(pointer._type_)
    if not pointer or 0 in shape:
        return np.empty(shape, dtype)
    memory = _Memory(owner, {
        "version": 3, "typestr": "|u1",
        "shape": (int(np.prod(shape)) * dtype.itemsize,),
        "data": (ctypes.addressof(pointer.contents), False)})
    return np.asarray(memory).view(dtype).reshape(shape)


def _size(struct: ctypes.Structure, text: str) -> int:
    """'rows', 'tracks + 1' or a constant of the header."""
    name, _, more = text.partition(" + ")
    size = _header.CONSTANTS.get(name)
    return (getattr(struct, name) if size is None else size) + int(more or 0)


class Result(SimpleNamespace):
    """A struct of results as attributes. Arrays have the rows first."""

    def __repr__(self) -> str:
        def short(value: Any) -> str:
            if isinstance(value, np.ndarray) and value.size > 6:
                return f"array {value.shape}"
            return repr(value)
        inside = (f"{k}={short(v)}" for k, v in vars(self).items()
                  if not k.startswith("_"))
        return f"{type(self).__name__}({', '.join(inside)})"

    def _repr_html_(self) -> str:
        from .html import result_html
        return result_html(self)


def fields(struct: ctypes.Structure, owner: Any) -> dict[str, Any]:
    """A struct's fields by name: words for enums, NumPy views of its arrays
    with the axes reversed: rows come first."""
    all_of_them: dict[str, Any] = {}
    for name, kind in struct._fields_:
        value = getattr(struct, name)
        if name in struct.enums:
            value = word(struct.enums[name], value)
        elif name in struct.shapes and value:
            shape = tuple(_size(struct, s) for s in struct.shapes[name])
            value = (texts_at(value, shape[0])
                     if kind is ctypes.POINTER(ctypes.c_char_p)
                     else view(owner, value, shape).T)
        elif name in struct.shapes:
            value = None
        elif isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif not isinstance(value, (bool, int, float)):
            continue
        all_of_them[name] = value
    return all_of_them

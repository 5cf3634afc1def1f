# SPDX-License-Identifier: MIT
"""usage: python sweep.py arguments | options

Calls every public function with NULL for every pointer in turn, or every
function that takes options with a wrong value for every option in turn, and
prints a line for each call that did not end with a sentence. Both go by the
header, so that a new function or option is called, too. Each call is made in
a process of its own, since it may crash."""
import ctypes
import importlib.machinery
import importlib.util
import math
import os
import signal
import sys
import tempfile

from conftest import OU, ROOT
from girsanov import _header, _lib

BAD_INPUT = _header.CONSTANTS["GSV_BAD_INPUT"]
GP = "state x\ngp f(x) -> 1 : grid 8 rbf\nparam s = 1 > 0\ndx = f*dt + s*dW\n"
FOLDER = tempfile.mkdtemp()
lib = _lib.lib


def read_header():
    """{function: [(argument's type, name)]}"""
    loader = importlib.machinery.SourceFileLoader(
        "python_header", str(ROOT / "tools" / "python-header"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("python_header", loader))
    loader.exec_module(module)
    text = module.HEADER.read_text()
    return {name: [tuple(a.rpartition(" ")[::2]) for a in arguments
                   if a != "void"]
            for _, name, arguments in module.read_functions(text)}


# --- Arguments that are right -------------------------------------------------

# Where the header says that NULL is right.
NULL_IS_RIGHT = {
    ("gsv_callback", "parameter"),
    ("gsv_series_new", "name"), ("gsv_series_view", "name"),
    ("gsv_series_view", "label"), ("gsv_series_read", "name"),
    ("gsv_series_read_named", "name"), ("gsv_series_read_named", "time"),
    ("gsv_series_read_named", "series"), ("gsv_series_read_shared", "name"),
    ("gsv_series_read_shared", "time"), ("gsv_series_read_shared", "series"),
    ("gsv_series_read_for", "time"), ("gsv_series_read_for", "series"),
    ("gsv_series_read_words", "time"), ("gsv_series_read_words", "series"),
    ("gsv_model_levels", "label"), ("gsv_physics", "s"),
    ("gsv_model_parse", "name"), ("gsv_check_gradient", "where"),
    ("gsv_bridge", "user"), ("gsv_draft_close", "d"),
    ("gsv_draft_descriptor", "d"),  # -1: there is none
    # the models here have no inputs
    ("gsv_model_drift", "input"), ("gsv_model_diffusion", "input"),
    ("gsv_model_outside_at", "input"), ("gsv_functions_drift", "input"),
}


def is_null_right(function, argument):
    return ((function, argument) in NULL_IS_RIGHT or argument == "ranks" and
            function != "gsv_ranks_open" or function.endswith("_free") or
            function == "gsv_stop_when")


def numbers(*values):
    return (ctypes.c_double * len(values))(*values)


def texts(*values):
    return (ctypes.c_char_p * len(values))(*values)


def make_series():
    return lib.gsv_series_new(1, (ctypes.c_size_t * 2)(0, 12), 1, texts(b"x"),
                              numbers(*range(12)),
                              numbers(*(math.sin(i) for i in range(12))))


def file_with(text):
    path = os.path.join(FOLDER, "file")
    with open(path, "w") as out:
        out.write(text)
    return path.encode()


def default(struct):
    o = getattr(lib, struct + "_default")()
    if struct == "gsv_simulate_options":
        o.times, o.time = 3, numbers(0, 1, 2)
    if struct == "gsv_fit_options":
        o.iterations = 2
    return o


def make_callback():
    kinds = dict(_header.gsv_callback._fields_)
    nothing = [kinds[f](lambda *_: None) for f in ("value", "vjp")]
    return _header.gsv_callback(
        inputs=1, outputs=1, parameters=1, parameter=numbers(1),
        value=nothing[0], vjp=nothing[1])


def fitted():
    m = lib.gsv_model_parse(GP.encode(), b"gp")
    o = default("gsv_fit_options")
    lib.gsv_fit(m, make_series(), ctypes.byref(o))
    return m


def option_row():
    count = ctypes.c_size_t()
    rows = lib.gsv_option_table(ctypes.byref(count))
    return ctypes.pointer(next(
        row for row in rows[:count.value] if row.flag == b"--paths"))


# Arguments of the functions for rows of options.
OPTION = {"row": option_row,
          "options": lambda: ctypes.cast(ctypes.pointer(
              default("gsv_options")), ctypes.c_void_p),
          "text": lambda: ctypes.create_string_buffer(b"8"),
          "size": lambda: 2}

KEPT = []  # as long as this process lives


def right(function, kind, name):
    """An argument with which the call succeeds."""
    kind = kind.replace("const ", "")
    if name.startswith("*"):
        kind, name = kind + " *" * name.count("*"), name.lstrip("*")
    if kind.endswith("*const"):
        kind = kind[:-len("const")] + "*"
    value = choose(function, kind.replace(" ", ""), name)
    KEPT.append(value)
    return value


def two_series():
    return lib.gsv_series_new(2, (ctypes.c_size_t * 3)(0, 6, 12), 1,
                              texts(b"x"), numbers(*range(12)),
                              numbers(*(math.sin(i) for i in range(12))))


def choose_panel(kind):
    """For series that are left out of a fit."""
    if kind == "gsv_series*":
        return two_series()
    m = lib.gsv_model_parse(OU.encode(), b"")
    o = default("gsv_fit_options")
    lib.gsv_fit(m, two_series(), ctypes.byref(o))
    return m


EXTERNAL = """state x
external a(x) -> 1
dx = a*dt + dW
"""

# Models for what not every model has.
TEXT = {"gsv_effects": """state x
param m = 0, s = 1 > 0
random u ~ normal(m, 0.5)
dx = (u - x)*dt + s*dW
""", "gsv_select": """state x
param s = 1 > 0
terms f(x) -> 1 : poly 1
dx = f*dt + s*dW
""", "gsv_model_external": EXTERNAL, "gsv_model_external_size": EXTERNAL}


def choose(function, kind, name):
    functions = function.startswith("gsv_functions")
    if function == "gsv_leave_series_out" and kind in ("gsv_model*",
                                                       "gsv_series*"):
        return choose_panel(kind)
    if function == "gsv_prior_parse" and name == "text":
        return b"k ~ normal(0, 1)"
    if function == "gsv_series_words" and name == "word":
        return texts(b"x", b"y")
    if kind == "gsv_model*":
        text = TEXT.get(function, OU)
        return (fitted() if functions
                else lib.gsv_model_parse(text.encode(), b""))
    if kind == "gsv_functions*":
        return lib.gsv_functions_new(fitted())
    if kind == "gsv_series*":
        return make_series()
    if function.startswith("gsv_option_") and name in OPTION:
        return OPTION[name]()
    if kind == "gsv_ranks*" or kind == "void*":
        return None
    if kind == "gsv_record*":
        return ctypes.pointer(_header.gsv_record())
    if kind == "gsv_callback*":
        return ctypes.pointer(make_callback())
    if kind.rstrip("*") + "_default" in _header.FUNCTIONS:
        return ctypes.pointer(default(kind.rstrip("*")))
    if kind.endswith("*") and hasattr(_header, kind[:-1]):
        return ctypes.pointer(getattr(_header, kind[:-1])())  # a result
    if kind == "gsv_kernel":
        make = ctypes.CFUNCTYPE(*[ctypes.c_double, ctypes.c_void_p] +
                                2 * [ctypes.c_double])
        kernel = make(lambda user, s, t: math.exp(-abs(s - t)))
        KEPT.append(kernel)
        return ctypes.cast(kernel, ctypes.c_void_p)
    if kind == "char**":
        return texts(b"x", b"y")
    if function == "gsv_text_free":
        text = lib.gsv_model_describe(choose(function, "gsv_model*", ""))
        return ctypes.cast(text, ctypes.c_char_p)
    if kind == "char*":
        if name == "path":
            return file_with(OU if "model" in function else
                             "series,time,x\n1,0,1\n1,1,2\n")
        return {"text": OU.encode(), "time": b"time", "series": b"series"}.get(
            name, b"a")
    if kind == "double*":
        return numbers(*range(1, 65))
    if kind == "size_t*":
        return (ctypes.c_size_t * 2)(0, 2)
    if kind.endswith("*"):
        return ctypes.pointer(ctypes.c_void_p())
    return {"n": 2 if function == "gsv_bridge" else 1, "y1": 1.0}.get(
        name, 0 if name in ("i", "a", "b", "status", "draw") else 1)


# --- Calls --------------------------------------------------------------------


def apart(work):
    """What work() says, in a process that may crash; a complaint, or ''."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        said = "an exception"
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.alarm(60)
            said = work() or ""
        finally:
            os.write(writer, said.encode()[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, how = os.waitpid(child, 0)
    if os.WIFSIGNALED(how):
        return "crashed: " + signal.Signals(os.WTERMSIG(how)).name
    return said


def is_failure(result):
    """Whether a call says that it failed, by the kind of what it returned."""
    if isinstance(result, _header.gsv_param):
        return result.name is None
    if isinstance(result, ctypes._Pointer):
        return not result
    return (result is None or result is False or result in (0, BAD_INPUT) or
            result != result)


def call(function, arguments):
    f = getattr(lib, function)
    kinds = _header.FUNCTIONS[function][1]
    return f(*[ctypes.cast(a, k) if isinstance(a, ctypes.Array) else a
               for a, k in zip(arguments, kinds)])


def try_null(function, arguments, place):
    given = [right(function, *a) for a in arguments]
    name = arguments[place][1].lstrip("*")
    given[place] = None
    result = call(function, given)
    if is_null_right(function, name):
        return ""
    sentence = lib.gsv_last_error().decode()
    if not is_failure(result):
        return f"went on and returned {result}"
    if function not in sentence or f"'{name}'" not in sentence:
        return f"says: {sentence!r}"
    return ""


def try_right(function, arguments):
    """The other arguments are right: nothing but NULL is complained about."""
    result = call(function, [right(function, *a) for a in arguments])
    makes = _header.FUNCTIONS[function][0]
    if makes is ctypes.c_int and result or not result and \
            makes is ctypes.c_void_p and function != "gsv_ranks_open":
        return "fails with arguments that are right: " + \
            lib.gsv_last_error().decode()
    return ""


def sweep_arguments():
    for function, arguments in read_header().items():
        yield function, apart(lambda: try_right(function, arguments))
        for i, (kind, name) in enumerate(arguments):
            if "*" in kind + name or kind == "gsv_kernel":
                yield (f"{function}({name} = NULL)",
                       apart(lambda: try_null(function, arguments, i)))


# --- Options ------------------------------------------------------------------


def wrong_values(kind, struct, field):
    """(what it is called in a sentence, how it is set)"""
    def put(value):
        return lambda o: setattr(o, field, value)

    def put_byte(o):
        ctypes.memset(ctypes.addressof(o) + getattr(struct, field).offset, 2,
                      1)
    if kind is ctypes.c_double:
        return [(str(v), put(v)) for v in (math.nan, math.inf, -math.inf)]
    if field in struct.enums:
        words = _header.ENUMS[struct.enums[field]]
        return [(str(v), put(v)) for v in (-1, len(words), 1 << 20)]
    if kind is ctypes.c_size_t and field != "seed":  # any seed is right
        return [("-5", put(2 ** 64 - 5))]
    if kind is ctypes.c_bool:
        return [("2", put_byte)]
    shape = struct.shapes.get(field, ("",))
    if (struct.__name__, field) in NULL_IS_RIGHT:
        return []
    if len(shape) == 1 and shape[0] in dict(struct._fields_):
        count = shape[0]

        def put_null(o):
            setattr(o, count, 3)
            setattr(o, field, None)
        return [("NULL", put_null)]
    return []


def wrong_options(struct, inside=lambda o: o):
    for field, kind in struct._fields_:
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure):
            yield from wrong_options(
                kind, lambda o, f=field: getattr(inside(o), f))
        else:
            for word, put in wrong_values(kind, struct, field):
                yield field, word, lambda o, put=put: put(inside(o))


def try_option(function, arguments, struct, field, word, put):
    given = [right(function, *a) for a in arguments]
    options = next(g for g in given if isinstance(
        getattr(g, "contents", None), struct))
    put(options.contents)
    result = call(function, given)
    sentence = lib.gsv_last_error().decode()
    if result != BAD_INPUT if isinstance(result, int) else result:
        return f"went on and returned {result}"
    if field not in sentence or word not in sentence:
        return f"says: {sentence!r}"
    return ""


def sweep_options():
    for function, arguments in read_header().items():
        kinds = _header.FUNCTIONS[function][1]
        for struct in vars(_header).values():
            named = getattr(struct, "__name__", "")
            if not named.endswith(("_options", "_callback")):
                continue
            if ctypes.POINTER(struct) not in kinds or _header.FUNCTIONS[function][0] is ctypes.c_bool:
                continue
            for field, word, put in wrong_options(struct):
                yield f"{function}: {field} = {word}", apart(
                    lambda: try_option(function, arguments, struct, field,
                                       word, put))


def main():
    sweep = {"arguments": sweep_arguments, "options": sweep_options}
    tried = 0
    for what, complaint in sweep[sys.argv[1]]():
        tried += 1
        if complaint:
            print(what, complaint, sep=": ")
    print(tried, "calls")


main()

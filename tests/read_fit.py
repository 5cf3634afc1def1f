#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: read_fit.py GIRSANOV [FIT...]

Reads fits with NumPy alone, as docs/FORMAT.md says that one can, and compares
their networks with `girsanov field`. A FIT must have a network of all states
as its drift, as examples/lorenz_net.sde has. Without one, small fits are made
in a temporary folder, and the rules for readers are tried on them, too.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

# --- The reader and the formula of docs/FORMAT.md ---------------------------

DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "softplus": lambda x: np.logaddexp(0.0, x),
    "silu": lambda x: x / (1.0 + np.exp(-x)),
}


def read_fit(path):
    """The tensors by name, in their order, and the texts of a fit."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    texts = header.pop("__metadata__")
    tensors = {}
    for name, t in sorted(header.items(), key=lambda i: i[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        values = np.frombuffer(data[begin:end], DTYPES[t["dtype"]])
        tensors[name] = values.reshape(t["shape"])
    return tensors, texts


def network(tensors, name, activation, x):
    """Outputs (n, out) of the network at inputs x (n, in)."""
    act, layer = ACTIVATIONS[activation], 0
    x = (x - tensors[f"{name}.input_mean"]) / tensors[f"{name}.input_scale"]
    while f"{name}.{layer}.weight" in tensors:
        x = act(x) if layer else x
        x = x @ tensors[f"{name}.{layer}.weight"].T
        x = x + tensors[f"{name}.{layer}.bias"]
        layer += 1
    return tensors[f"{name}.output_mean"] + tensors[f"{name}.output_scale"] * x


# --- What is checked --------------------------------------------------------

RECORD = {"data", "tracks", "rows", "gaps", "heldout_gaps", "optimizer",
          "ended", "errors", "iterations", "restarts", "seconds", "seed",
          "loglik", "stderr", "discretisation", "heldout", "paths", "steps",
          "flagged", "free", "aic", "bic", "warning"}
VECTORS = ["theta", "safe", "best", "champion", "mean", "square", "average"]


def run(*words, code=0):
    """Standard output, or after a failure that is wanted the message."""
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr if code else done.stdout


def parameters(tensors):
    return {k: v for k, v in tensors.items() if not k.startswith("@")}


def check_record(tensors, texts):
    """Names, shapes and metadata; the record."""
    record = json.loads(texts["fit"])
    size = sum(v.size for v in parameters(tensors).values())
    assert texts["format"] == "girsanov 1" and texts["version"]
    assert RECORD <= set(record), RECORD - set(record)
    assert all(v.dtype == "<f8" for v in tensors.values())
    assert (tensors["@lowest"] <= tensors["@highest"]).all()
    for name in "@stderr", "@low", "@high":
        assert (name in tensors) == (record["errors"] != "none"), name
        assert name not in tensors or tensors[name].shape == (size,), name
    if "@correlation" in tensors:
        k = tensors["@estimate"].shape[0]
        assert (tensors["@estimate"] < size).all()
        assert tensors["@correlation"].shape == (k, k)
    return record


def read_net(texts):
    """Name, widths and activation of the model's one network."""
    found = re.search(r"^net (\w+)\(([^)]*)\) -> (\d+) :([ \d]*)(\w*)",
                      texts["model"], re.M)
    name, arguments, outputs, widths, activation = found.groups()
    inputs = len(arguments.split(","))
    return (name, [inputs, *map(int, widths.split()), int(outputs)],
            activation or "silu")


def check_network(girsanov, path, tensors, texts):
    """Shapes, and values at random points of the data's box."""
    name, width, activation = read_net(texts)
    for i, (n, m) in enumerate(zip(width, width[1:])):
        assert tensors[f"{name}.{i}.weight"].shape == (m, n)
        assert tensors[f"{name}.{i}.bias"].shape == (m,)
    low, high = tensors["@lowest"], tensors["@highest"]
    x = low + (high - low) * np.random.default_rng(1).random((200, width[0]))
    states = re.search(r"^state (.*)$", texts["model"], re.M)[1].split(", ")
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as points:
        np.savetxt(points, x, "%.17g", ",", header=",".join(states),
                   comments="")
        points.flush()
        lines = run(girsanov, "field", path, "--at", points.name).split()
    columns = [lines[0].split(",").index(f"drift_{s}") for s in states]
    theirs = np.array([row.split(",") for row in lines[1:]])[:, columns]
    ours = network(tensors, name, activation, x)
    off = np.abs(ours - theirs.astype(float)).max() / np.abs(ours).max()
    assert off < 1e-9, (path, off)
    return off


def check(girsanov, path):
    tensors, texts = read_fit(path)
    check_record(tensors, texts)
    off = check_network(girsanov, path, tensors, texts)
    count = sum(v.size for v in parameters(tensors).values())
    print(f"{path}: {count} numbers, network as 'field' has it to {off:.1e}")


# --- Small fits -------------------------------------------------------------

TRUTH = """state x, y
param s = 0.3 > 0
dx = (y - x)*dt + s*dW
dy = (-2*x - y)*dt + s*dW
"""
MODEL = """state x, y
net f(x, y) -> 2 : {}
param s = 1 > 0
dx = f[1]*dt + s*dW
dy = f[2]*dt + s*dW
"""
QUICK = ("--paths", "1", "--steps", "1", "-q")


def write_text(path, text):
    with open(path, "w") as file:
        file.write(text)


def write_fit(path, tensors, texts):
    """The inverse of read_fit()."""
    names = {np.dtype(v): k for k, v in DTYPES.items()}
    header, data = {"__metadata__": texts}, b""
    for name, x in tensors.items():
        end = len(data) + x.nbytes
        header[name] = {"dtype": names[x.dtype], "shape": x.shape,
                        "data_offsets": [len(data), end]}
        data += x.tobytes()
    words = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(words).to_bytes(8, "little") + words + data)


def check_errors(girsanov, path):
    """Standard errors stand in the order of the parameters' data."""
    tensors, _ = read_fit(path)
    said = json.loads(run(girsanov, "summary", path, "--json"))["params"]
    begin = 0
    for name, value in parameters(tensors).items():
        for key in "estimate", "stderr", "low", "high":
            array = value
            if key != "estimate":
                array = tensors["@" + key][begin:begin + value.size]
                array = array.reshape(value.shape)
            theirs = np.array(said[name][key], float)  # null becomes NaN
            assert np.array_equal(*np.broadcast_arrays(array, theirs),
                                  equal_nan=True), (name, key)
        begin += value.size
    assert np.isfinite(tensors["@stderr"]).any()


def check_checkpoint(girsanov):
    """An unfinished fit has the optimiser's state, and goes on."""
    fit = (girsanov, "fit", "silu.sde", "data.csv", "-o", "half.fit", "-q")
    run(*fit, "--time-limit", "0.001")
    tensors, texts = read_fit("half.fit")
    check_record(tensors, texts)
    terms = json.loads(texts["state"])
    size = sum(v.size for k, v in parameters(tensors).items()
               if "put_" not in k)
    for name in VECTORS:
        assert tensors[f"@state.{name}"].shape == (size,), name
    assert tensors["@state.adam"].shape == (4,)
    assert tensors["@state.numbers"].ndim == 1
    assert terms["model"] == texts["model"]
    run(*fit, "--time-limit", "0.002", "--resume")


def check_rules(girsanov, path):
    """What a reader passes over, takes, and refuses."""
    tensors, texts = read_fit(path)
    field = (girsanov, "field", "new.fit", "--grid", "x=0,y=0:1:3")
    was = run(girsanov, "field", path, *field[3:])

    def write(more=None, words=None, without="", as_type="<f8"):
        all_of_it = {k: v.astype(as_type) for k, v in tensors.items()
                     if k != without}
        write_fit("new.fit", {**all_of_it, **(more or {})},
                  {**texts, **(words or {})})

    write({"@mine": np.ones((2, 3))}, {"note": "mine"})
    assert run(*field) == was
    write(as_type="<f4")
    assert run(*field).count("\n") == was.count("\n")
    refused = [
        (dict(more={"other": np.ones(2)}), "does not have"),
        (dict(more={"s": np.ones(2)}), "does not have the shape"),
        (dict(more={"s": np.array(-1.0)}), "is damaged: "),
        (dict(without="f.1.bias"), "is missing"),
        (dict(words={"format": "girsanov 2"}), "reads format 1"),
        (dict(words={"format": "other"}), "not a fit"),
    ]
    for change, message in refused:
        write(**change)
        assert message in run(*field, code=1), message
    with open(path, "rb") as file:
        whole = file.read()
    with open("new.fit", "wb") as file:
        file.write(whole[:-8])
    assert "the file is truncated" in run(*field, code=1)


def make_and_check(girsanov):
    write_text("truth.sde", TRUTH)
    run(girsanov, "simulate", "truth.sde", "--tracks", "4", "--x0", "normal",
        "--times", "0:5:40", "-o", "data.csv", "-q")
    run(girsanov, "fit", "truth.sde", "data.csv", "-o", "truth.fit", "-q")
    check_record(*read_fit("truth.fit"))
    check_errors(girsanov, "truth.fit")
    for activation in ACTIVATIONS:
        write_text(f"{activation}.sde", MODEL.format(f"7 5 {activation}"))
        run(girsanov, "fit", f"{activation}.sde", "data.csv", "-o",
            f"{activation}.fit", "--iterations", "30", *QUICK)
        check(girsanov, f"{activation}.fit")
    write_text("linear.sde", MODEL.format(""))
    run(girsanov, "fit", "linear.sde", "data.csv", "-o", "linear.fit",
        "--errors", "observed", "--optimizer", "lbfgs", *QUICK)
    check(girsanov, "linear.fit")
    check_errors(girsanov, "linear.fit")
    check_checkpoint(girsanov)
    check_rules(girsanov, "silu.fit")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    girsanov = os.path.abspath(sys.argv[1])
    for path in sys.argv[2:]:
        check(girsanov, path)
    if len(sys.argv) > 2:
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_and_check(girsanov)
        os.chdir("/")


main()

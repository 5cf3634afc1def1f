# SPDX-License-Identifier: MIT
"""All ways to give data are one; large arrays are not copied."""
import gc
import pathlib
import re

import numpy as np
import pytest

import girsanov
from girsanov import InputError, Series


def address(array):
    return array.__array_interface__["data"][0]


def test_every_way_gives_the_same_bits(ou, data, tmp_path):
    path = tmp_path / "d.csv"
    data.write(path)
    t = data.time[:51]
    ways = {
        "series": data,
        "path": path,
        "text": str(path),
        "panel": (t, data.array),
        "tracks": data.tracks(),
        "columns": {"series": np.repeat(["a", "b"], 51), "time": data.time,
                    "x": data["x"]},
        "masked": (t, np.ma.masked_invalid(data.array)),
        "single": [(t.astype(np.float64), a[:, 0]) for a in data.array],
    }
    values = {k: ou.loglik(v).loglik for k, v in ways.items()}
    assert len(set(values.values())) == 1, values


def test_frames_may_be_shuffled(ou, data):
    pandas = pytest.importorskip("pandas")
    frame = data.frame()
    assert list(frame.columns) == ["series", "time", "x"]
    mixed = frame.sort_values(["time", "series"])
    assert ou.loglik(mixed).loglik == ou.loglik(data).loglik
    renamed = mixed.rename(columns={"time": "when", "series": "who"})
    series = ou.data(renamed, time="when", series="who")
    assert ou.loglik(series).loglik == ou.loglik(data).loglik
    assert series.labels == ["1", "2"]
    pandas.testing.assert_frame_equal(series.frame(), frame)


def test_missing_cells_of_pandas(ou):
    pandas = pytest.importorskip("pandas")
    cells = pandas.array([0.3, None, 0.1], dtype="Float64")
    frame = pandas.DataFrame({"time": [0, 1, 2], "x": cells})
    assert ou.loglik(frame).gaps == 1
    with pytest.raises(InputError, match="'x' has entries that are not"):
        ou.loglik(frame.assign(x=["a", "b", "c"]))


def test_dates_are_days(ou, tmp_path):
    pandas = pytest.importorskip("pandas")
    days = ["2005-01-03", "2005-01-04", "2005-01-07 12:00"]
    path = tmp_path / "d.csv"
    path.write_text("time,x\n" + "".join(f"{d},{i}\n"
                                         for i, d in enumerate(days)))
    frame = pandas.DataFrame({"time": pandas.to_datetime(
        pandas.Series(days), format="mixed" if pandas.__version__ >= "2"
        else None), "x": [0.0, 1.0, 2.0]})
    assert (ou.data(frame).time == Series.read(path).time).all()
    zoned = frame.assign(time=frame["time"].dt.tz_localize("UTC"))
    assert (ou.data(zoned).time == Series.read(path).time).all()


def test_arrays_are_borrowed():
    t = np.arange(1000.0)
    one, two = np.zeros(1000), np.zeros((1000, 2), order="F")
    assert address(Series(t, one).values) == address(one)
    assert address(Series(t, two).values) == address(two)
    assert address(Series(t, two).time) == address(t)
    columns = Series.from_columns({"t": t, "x": one})
    assert address(columns["x"]) == address(one)
    rows = np.zeros((1000, 2))
    assert address(Series(t, rows).values) != address(rows)  # one copy


def test_views_keep_what_they_look_at(ou):
    def views():
        s = ou.simulate(np.linspace(0, 1, 1000), tracks=2, seed=5)
        r = ou.loglik(s, paths=4, steps=2)
        mine = Series(np.arange(5.0), np.arange(5.0) + 0.5)
        return s.values, s.values.copy(), r.by_gap, r.by_gap["loglik"].copy(), mine.values
    looked = [views() for _ in range(3)]
    gc.collect()
    [np.full(20000, 7.0) for _ in range(20)]
    for values, was, gap, was_gap, mine in looked:
        assert (values == was).all() and (gap["loglik"] == was_gap).all()
        assert (mine[:, 0] == np.arange(5.0) + 0.5).all()


def test_shapes_and_names(data):
    assert data.names == ["x"] and data.labels == ["1", "2"]
    assert data.array.shape == (2, 51, 1) and len(data) == 102
    assert np.shares_memory(data.array, data.values)
    assert (data.array[1, :, 0] == data["x"][51:]).all()
    (t, x), _ = data.tracks()
    assert t.shape == (51,) and x.shape == (51, 1)
    panel = Series([[0, 1], [5, 7]], np.zeros((2, 2, 3)), labels=["u", "v"])
    assert panel.time.tolist() == [0, 1, 5, 7] and panel.labels == ["u", "v"]


def test_missing_values(ou):
    x = np.array([0.3, np.nan, 0.1])
    gone = ou.loglik(([0, 1, 2], x))
    assert gone.gaps == 1
    assert gone.loglik == ou.loglik(([0, 2], x[::2])).loglik
    masked = np.ma.masked_equal([0.3, 9.0, 0.1], 9.0)
    assert ou.loglik(([0, 1, 2], masked)).loglik == gone.loglik


@pytest.mark.parametrize("data, message", [
    (([0, 1, 1], [1, 2, 3]),
     "data: duplicate time 1 in row 3, as in row 2; times must increase"),
    (([0, 1], [1, np.inf]), "data: column 'x' is infinite in row 2"),
    (([0, 1, 2], [1, 2]), "do not belong together"),
    (([0, 1], np.zeros((2, 3))), "there are 3 columns, but 1 are wanted: x"),
    (([], []), "data: there are no rows"),
    ([], "data: there are no tracks"),
    ({"time": [0, 1], "X": [1, 2]}, "there is no column 'x'"),
    ({"x": [1, 2]}, "there is no column 'time'"),
    ({"time": ["now", "then"], "x": [1, 2]}, "'time' has entries that are"),
    ("no/such.csv", "cannot open no/such.csv"),
])
def test_mistakes(ou, data, message):
    with pytest.raises(InputError, match=re.escape(message)):
        ou.loglik(data)


def test_other_things_are_refused(ou):
    with pytest.raises(TypeError, match="data are a path, a Series"):
        ou.loglik(3)
    with pytest.raises(InputError, match="from 1 to 2 rows"):
        Series.from_tracks([([0], [1]), ([0, 1], [1, 2])]).array
    with pytest.raises(InputError, match="both labelled 'a'"):
        Series([0, 1], np.zeros((2, 2, 1)), labels=["a", "a"])
    with pytest.raises(KeyError, match="did you mean 'height'"):
        Series([0, 1], [1, 2], ["height"])["heigth"]


def test_files_come_back(data, tmp_path):
    path = pathlib.Path(tmp_path) / "d.csv"
    data.write(path)
    again = Series.read(path)
    assert (again.values == data.values).all() and again.note == ""
    with pytest.raises(girsanov.Error):
        data.write(tmp_path / "no" / "folder.csv")

# SPDX-License-Identifier: MIT
"""Observed series, from files, arrays and DataFrames."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union

import numpy as np

from . import _lib
from ._lib import InputError, Owner, Texts, lib

if TYPE_CHECKING:
    import pandas

# A path; a Series; (times, values); a list of these; columns by name.
Data = Union[str, "os.PathLike[str]", "Series", tuple, list,
             Mapping[str, Any], "pandas.DataFrame"]

_EPOCH = np.datetime64("1970-01-01")


def _codes(values: Any, words: list[str]) -> np.ndarray:
    """Labels as numbers; texts among them are added to words."""
    codes: dict[Any, float] = {}
    for label in values:
        if label in codes:
            continue
        missing = label is None or label != label
        text = str(label)
        codes[label] = (np.nan if missing
                        else lib.gsv_category(_lib.coded(text)))
        if not missing and text not in words:
            words.append(text)
    return np.array([codes[label] for label in values], float)


def _numbers(values: Any, name: str) -> np.ndarray:
    """As double, with NaN for what is masked; not a copy where it is double
    already. Dates are days since 1970-01-01, as in files."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    if getattr(getattr(values, "dtype", None), "tz", None) is not None:
        values = values.dt.tz_convert(None)
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return (array - _EPOCH) / np.timedelta64(1, "D")
    try:
        return np.asarray(array, float)
    except (TypeError, ValueError):
        pass
    try:
        return values.to_numpy(float, na_value=np.nan)  # pandas' own NA
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            f"data: '{name}' has entries that are not numbers; convert them, "
            "dates by pandas.to_datetime()") from None


def _texts(strings: Iterable[str] | None) -> Texts | None:
    return None if strings is None else Texts(strings)


class Series:
    """Tracks of rows, one below the other: times, and columns by name.

    ``Series(times, values)`` takes times (n) with values (n) or (n, columns);
    or (n) or (tracks, n) with values (tracks, n, columns). NaN and masked are
    missing. Arrays of double whose columns are contiguous (one column, or
    Fortran's order) are not copied: leave them as they are while the series
    is in use.

    >>> s = Series([0, 1, 2], [[1, 10], [2, 20], [3, np.nan]], ["x", "y"])
    >>> s
    Series(1 track, 3 rows: x, y)
    >>> s["y"]
    array([10., 20., nan])
    """

    def __init__(self, times: Any, values: Any,
                 names: Sequence[str] | None = None,
                 labels: Sequence[Any] | None = None):
        time, value = _numbers(times, "time"), _numbers(values, "values")
        if value.ndim == 3:
            tracks, length = value.shape[:2]
            time = np.broadcast_to(time, (tracks, length)) if (
                time.shape[-1:] == (length,)) else time
            value = value.reshape(-1, value.shape[2])
        else:
            value = value.reshape(-1, 1) if value.ndim < 2 else value
            tracks, length = 1, len(value)
        if value.ndim != 2 or time.size != tracks * length:
            raise InputError(
                f"data: times {np.shape(times)} and values {np.shape(values)} "
                "do not belong together; (n) and (n, columns), or (n) and "
                "(tracks, n, columns) do")
        start = np.arange(tracks + 1, dtype=np.uintp) * np.uintp(length)
        self._borrow(start, time.reshape(-1), value.T, names, labels)

    def _borrow(self, start: np.ndarray, time: np.ndarray, value: np.ndarray,
                names: Sequence[str] | None,
                labels: Sequence[Any] | None) -> None:
        """time (rows), value (columns, rows)"""
        start = np.ascontiguousarray(start, np.uintp)
        time = np.ascontiguousarray(time)
        value = np.ascontiguousarray(value)
        if names is not None and len(names) != len(value):
            raise InputError(
                f"data: there are {len(value)} columns, but {len(names)} are "
                f"wanted: {', '.join(names)}")
        if labels is not None and len(labels) != len(start) - 1:
            raise InputError(f"data: there are {len(start) - 1} tracks, but "
                             f"{len(labels)} labels")
        if start[-1] == 0:
            raise InputError("data: there are no rows")
        self._own(lib.gsv_series_view(
            len(start) - 1, start.ctypes.data, _texts(labels), len(value),
            _texts(names), time.ctypes.data, value.ctypes.data), time, value)

    def _own(self, pointer: Any, *keep: Any) -> None:
        self._pointer = _lib.made(pointer)
        self._owner = Owner(pointer, lib.gsv_series_free, *keep)
        self._as_parameter_ = self._pointer
        self._fields = _lib.fields(pointer.contents, self._owner)

    @classmethod
    def _from_c(cls, pointer: Any) -> Series:
        series = cls.__new__(cls)
        series._own(pointer)
        return series

    def __reduce__(self) -> Any:
        """For pickle and copy."""
        return _revive, (np.array(self.start), np.array(self.time),
                         np.array(self.values.T), self.names, self.labels)

    # --- Making ---

    @classmethod
    def read(cls, path: str | os.PathLike[str],
             names: Sequence[str] | None = None, time: str | None = None,
             series: str | None = None) -> Series:
        """From a CSV file or a .npy array; all columns, or those named. time
        and series are the names of these columns where they have others."""
        texts = _texts(names)
        return cls._from_c(lib.gsv_series_read_named(
            _lib.path_bytes(path), time and _lib.coded(time),
            series and _lib.coded(series), len(names or ()), texts))

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any],
                     names: Sequence[str] | None = None,
                     time: str | None = None,
                     series: str | None = None,
                     labels: Sequence[str] = ()) -> Series:
        """From a DataFrame, or arrays by name. Rows of a series need not stand
        together. names: the columns of values (all others); labels: those of
        them that are categories, and may be texts.

        >>> Series.from_columns({"id": ["b", "a", "b"], "t": [0, 0, 1],
        ...                      "x": [1, 2, 3]})
        Series(2 tracks, 3 rows: x)
        """
        known = [str(c) for c in columns.keys()]

        def find(given: str | None, usual: tuple[str, ...]) -> str | None:
            return given or next((u for u in usual if u in known), None)
        time = find(time, ("time", "t")) or "time"
        series = find(series, ("series", "id"))
        if names is None:
            names = [n for n in known if n not in (time, series)]
        for name in (time, *([series] if series else []), *names):
            if name not in known:
                raise InputError(
                    f"data: there is no column '{name}'"
                    + (_lib.suggestion(name, known)
                       or f"; there are {', '.join(known)}"))
        order, start, tracks = _group(
            None if series is None else np.asarray(columns[series]),
            len(columns[time]))
        words: list[str] = []
        value = [(_codes(columns[n], words) if n in labels
                  else _numbers(columns[n], n))[order] for n in names]
        # One column is a view already.
        stacked = value[0][None] if len(value) == 1 else np.array(value)
        made = cls.__new__(cls)
        made._borrow(start, _numbers(columns[time], time)[order],
                     stacked.reshape(len(names), -1), names, tracks)
        if words:
            _lib.check(lib.gsv_series_words(made, len(words), _texts(words)))
        return made

    @classmethod
    def from_tracks(cls, tracks: Sequence[Any],
                    names: Sequence[str] | None = None,
                    labels: Sequence[Any] | None = None) -> Series:
        """From a list of (times, values), each of its own length."""
        parts = [cls(times, values, names) for times, values in tracks]
        if not parts:
            raise InputError("data: there are no tracks")
        made = cls.__new__(cls)
        made._borrow(np.cumsum([0] + [len(p) for p in parts]),
                     np.concatenate([p.time for p in parts]),
                     np.concatenate([p.values for p in parts]).T,
                     names or parts[0].names, labels)
        return made

    # --- Asking: all arrays are views ---

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return self._fields["name"] or []

    @property
    def labels(self) -> list[str]:
        """Of the tracks."""
        return self._fields["label"]

    @property
    def time(self) -> np.ndarray:
        """(rows)"""
        return self._fields["time"]

    @property
    def values(self) -> np.ndarray:
        """(rows, columns)"""
        return self._fields["value"]

    @property
    def start(self) -> np.ndarray:
        """(tracks + 1): track r has the rows start[r] up to start[r + 1]."""
        return self._fields["start"]

    @property
    def note(self) -> str:
        """What was passed over while reading, or ''."""
        return self._fields["note"]

    @property
    def array(self) -> np.ndarray:
        """(tracks, n, columns), where all tracks have n rows."""
        lengths = np.diff(self.start)
        if (lengths != lengths[0]).any():
            raise InputError("data: the tracks have from "
                             f"{lengths.min()} to {lengths.max()} rows, and "
                             "are no array; take them one by one: tracks()")
        shape = (len(self.names), len(lengths), int(lengths[0]))
        return self.values.T.reshape(shape).transpose(1, 2, 0)

    def tracks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(times, values) of every track."""
        ends = zip(self.start[:-1].tolist(), self.start[1:].tolist())
        return [(self.time[a:b], self.values[a:b]) for a, b in ends]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.names:
            raise KeyError(f"there is no column '{name}'"
                           + _lib.suggestion(name, self.names))
        return self.values[:, self.names.index(name)]

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        n = len(self.labels)
        return (f"Series({n} track{'' if n == 1 else 's'}, {len(self)} rows: "
                f"{', '.join(self.names)})")

    def _repr_html_(self) -> str:
        from .html import series_html
        return series_html(self)

    def frame(self) -> pandas.DataFrame:
        """A DataFrame: series, time, and the columns."""
        return frame(self.labels, np.repeat(np.arange(len(self.labels)),
                                            np.diff(self.start).astype(int)),
                     self.time, {n: self[n] for n in self.names})

    def write(self, path: str | os.PathLike[str]) -> None:
        """CSV with every digit, whole or not at all."""
        _lib.check(lib.gsv_series_write(self, _lib.path_bytes(path)))

    def join(self, more: Series) -> Series:
        """Below each track those rows of more that come after its end."""
        return Series._from_c(lib.gsv_series_join(self, more))


def _revive(*parts: Any) -> Series:
    series = Series.__new__(Series)
    series._borrow(*parts)
    return series


def frame(labels: Sequence[str], track: np.ndarray, time: np.ndarray,
          columns: Mapping[str, np.ndarray]) -> pandas.DataFrame:
    """A DataFrame of rows that belong to tracks."""
    import pandas
    series = np.asarray(labels, object)[track.astype(int)]
    return pandas.DataFrame({"series": series, "time": time, **columns})


def _group(label: np.ndarray | None, rows: int
           ) -> tuple[Any, np.ndarray, list[str] | None]:
    """How to bring the rows of a series together, where series begin, and
    their labels in order of appearance. A slice where they are together."""
    if label is None or not rows:
        return slice(None), np.array([0, rows]), None
    texts, first, code = np.unique(label.astype(str), return_index=True,
                                   return_inverse=True)
    rank = np.empty(len(texts), int)
    rank[np.argsort(first)] = np.arange(len(texts))
    place = rank[code]
    start = np.concatenate([[0], np.cumsum(np.bincount(place))])
    labels = [str(t) for t in texts[np.argsort(first)]]
    if (np.diff(place) >= 0).all():
        return slice(None), start, labels
    return np.argsort(place, kind="stable"), start, labels


def as_series(data: Data, names: Sequence[str], time: str | None = None,
              series: str | None = None, labels: Sequence[str] = ()) -> Series:
    """Whatever data are given in, with these columns."""
    if isinstance(data, Series):
        return data
    if isinstance(data, (str, os.PathLike)):
        return Series.read(data, names, time, series)
    if hasattr(data, "keys"):  # a mapping, or what looks like one
        columns: Any = data
        return Series.from_columns(columns, names, time, series, labels)
    if isinstance(data, list):
        return Series.from_tracks(data, names)
    if isinstance(data, tuple) and len(data) == 2:
        return Series(data[0], data[1], names)
    raise TypeError(
        "data are a path, a Series, (times, values), a list of these, a "
        f"DataFrame, or arrays by name; not {type(data).__name__}")

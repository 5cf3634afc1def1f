# SPDX-License-Identifier: MIT
"""The build backend of the package (PEP 517 and 660): wheels, editable wheels
and source archives by the standard library alone. It writes only into the
directories that it is given; the same source gives the same bytes.

Settings of a build (pip's --config-settings; tools/make-wheel has them):
library=FILE is carried in the wheel, which is then for platform=TAG alone;
licenses=FOLDER has the licences of what is in the library."""
import base64
import gzip
import hashlib
import importlib.util
import io
import os
import pathlib
import re
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "girsanov"
NAME = "girsanov"
VERSION = re.search(r"^VERSION = '(.+)'$",
                    (PACKAGE / "_header.py").read_text("utf-8"), re.M)[1]
STEM = f"{NAME}-{VERSION}"
INFO = STEM + ".dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: Learns stochastic differential equations from time series
License: MIT
Classifier: License :: OSI Approved :: MIT License
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Requires-Dist: numpy
Description-Content-Type: text/markdown

"""


def _forget_own_bytecode():
    """Importing this file has just left a __pycache__ beside it, in the source
    of whoever installs."""
    cached = pathlib.Path(importlib.util.cache_from_source(__file__))
    try:
        cached.unlink()
        cached.parent.rmdir()  # unless there are others
    except OSError:
        pass


_forget_own_bytecode()

# --- What goes in: {name in the archive: bytes} ------------------------------


def _modules():
    return {f"{NAME}/{p.name}": p.read_bytes()
            for p in sorted(PACKAGE.iterdir())
            if p.suffix == ".py" or p.name == "py.typed"}


def _licence():
    """In a source archive beside pyproject.toml; in a checkout one above."""
    found = [p for p in (ROOT / "LICENSE", ROOT.parent / "LICENSE")
             if p.is_file()]
    return {"LICENSE": found[0].read_bytes()} if found else {}


def _metadata():
    return (METADATA + (ROOT / "README.md").read_text("utf-8")).encode()


def _carried(settings):
    """The library, where one is given, and the licences of what is in it."""
    if "library" not in settings:
        return {}
    licences = pathlib.Path(settings["licenses"])
    return {f"{NAME}/libgirsanov.so":
            pathlib.Path(settings["library"]).read_bytes(),
            **{f"{INFO}/licenses/{p.name}": p.read_bytes()
               for p in sorted(licences.iterdir())}}


def _tag(settings):
    return f"py3-none-{settings.get('platform', 'any')}"


def _info(settings):
    pure = str("library" not in settings).lower()
    wheel = ("Wheel-Version: 1.0\nGenerator: girsanov\n"
             f"Root-Is-Purelib: {pure}\nTag: {_tag(settings)}\n")
    files = {"METADATA": _metadata(), "WHEEL": wheel.encode(), **_licence()}
    return {f"{INFO}/{name}": data for name, data in files.items()}


# --- Archives ----------------------------------------------------------------


def _record(files):
    """What is in a wheel, with digests; its own line has none."""
    def line(name, data):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        return f"{name},sha256={digest.rstrip(b'=').decode()},{len(data)}\n"
    lines = [line(*item) for item in sorted(files.items())]
    return ("".join(lines) + f"{INFO}/RECORD,,\n").encode()


def _write_wheel(directory, files, settings):
    name = f"{STEM}-{_tag(settings)}.whl"
    files = {**files, **_info(settings)}
    files[f"{INFO}/RECORD"] = _record(files)
    with zipfile.ZipFile(os.path.join(directory, name), "w",
                         zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980, whatever the clock says
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def _write_metadata(directory, settings):
    folder = pathlib.Path(directory) / INFO
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in _info(settings).items():
        (pathlib.Path(directory) / path).write_bytes(data)
    return INFO


# --- The hooks ---------------------------------------------------------------


def build_wheel(wheel_directory, config_settings=None,
                metadata_directory=None):
    settings = config_settings or {}
    return _write_wheel(wheel_directory,
                        {**_modules(), **_carried(settings)}, settings)


def build_editable(wheel_directory, config_settings=None,
                   metadata_directory=None):
    """A line that says where the source is. Nothing else is a module there:
    the folders beside the package have no __init__.py."""
    link = {f"{NAME}.pth": f"{ROOT}\n".encode()}
    return _write_wheel(wheel_directory, link, {})


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _write_metadata(metadata_directory, config_settings or {})


def prepare_metadata_for_build_editable(metadata_directory,
                                        config_settings=None):
    return _write_metadata(metadata_directory, {})


def build_sdist(sdist_directory, config_settings=None):
    own = {path: (ROOT / path).read_bytes()
           for path in ("pyproject.toml", "README.md", "pep517/backend.py")}
    files = {"PKG-INFO": _metadata(), **own, **_licence(), **_modules()}
    name = STEM + ".tar.gz"
    with open(os.path.join(sdist_directory, name), "wb") as out, \
            gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w",
                         format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{STEM}/{path}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return name

# SPDX-License-Identifier: MIT
"""What a caller does wrong is a sentence, and not a crash: sweep.py."""
import os
import pathlib
import subprocess
import sys

import pytest

SWEEP = pathlib.Path(__file__).with_name("sweep.py")


@pytest.mark.parametrize("what, fewest", [("arguments", 200),
                                          ("options", 350)])
def test_every_public_function_says_what_is_wrong(what, fewest):
    # One thread: what a fork leaves of a pool of them does not work.
    done = subprocess.run([sys.executable, SWEEP, what], text=True,
                          stdout=subprocess.PIPE, check=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    *complaints, last = done.stdout.splitlines()
    assert complaints == []
    assert int(last.split()[0]) > fewest

# SPDX-License-Identifier: MIT
"""Whether an estimate of a log-likelihood is right, and whether it said so."""
COLUMNS = ["right", "flagged, wrong", "flagged, right", "WRONG"]


def verdict(trusted, wrong):
    """The number of the column."""
    return (0 if not wrong else 3) if trusted else (1 if wrong else 2)


def is_off(found, exact):
    """By more than four standard errors and 0.1."""
    return not abs(found["loglik"] - exact) <= 4 * found["stderr"] + 0.1

# SPDX-License-Identifier: MIT
from setuptools import setup

setup()

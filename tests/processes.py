"""Processes of tests: where they find what they import."""

import os


def with_path(*folders):
    """The environment of a process that is to find what lies in some folders."""
    already = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, folders), *already])}

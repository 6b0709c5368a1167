"""Importing this makes the helpers of all tests importable, in this process and in its children."""

import os
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
_FOLDERS = [TESTS, *(TESTS / name for name in ("soak", "engines", "persistence", "commands"))]
_missing = [str(folder) for folder in _FOLDERS if str(folder) not in sys.path]
sys.path[:0] = _missing
_known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
_added = [str(folder) for folder in _FOLDERS if str(folder) not in _known]
os.environ["PYTHONPATH"] = os.pathsep.join([*_added, *filter(None, _known)])

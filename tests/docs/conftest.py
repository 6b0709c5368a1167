"""The documentation as `make docs` built it: these tests look at it, and build nothing."""

import os
from pathlib import Path

import pytest

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"


@pytest.fixture(scope="session")
def built():
    missing = "The documentation is not built: make docs builds it, and runs these tests."
    if not (BUILT / "index.html").exists():
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return BUILT

"""Settings for all tests, and ensembles that many of them prune."""

# the environment is set before NumPy and SciPy are loaded

import importlib.util
import os
import shutil
import signal

if os.name == "nt":  # these kill and fork processes, and fill up disks
    collect_ignore = ["engines/test_faults.py", "outputs/test_store_faults.py"]
# Tests run in parallel: with threads of their own, OpenMP and BLAS mostly wait for each other.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["SCIPY_ARRAY_API"] = "1"  # or scikit-learn skips a check; SciPy reads it when loaded

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from boosted_models import LIBRARIES

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as under `nohup make test &`
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests interrupt processes

# A few examples find most faults within minutes; `--hypothesis-profile=nightly` draws many more.
settings.register_profile(
    "local", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.register_profile("few", settings.get_profile("ci"), max_examples=10)
settings.register_profile("nightly", settings.get_profile("local"), max_examples=300)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _seed():
    """What draws at random without a random state draws the same in every run of the tests."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(autouse=True, scope="session")
def _short_timings():
    """Time predictions for hundredths of a second: no test depends on how exact times are."""
    from secateurs.problem import latency, model_costs

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(model_costs, "_TIMING_SECONDS", 0.02)
        monkeypatch.setattr(model_costs, "_QUICK_SECONDS", 0.02)
        monkeypatch.setattr(latency, "_SECONDS_PER_SIZE", 0.02)
        yield


@pytest.fixture(scope="session")
def fitted():
    from fitted_models import fitted_models

    return fitted_models()


@pytest.fixture(scope="session")
def forest(fitted):
    return fitted["forest"]


@pytest.fixture
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(params=LIBRARIES)
def library(request):
    return request.param


@pytest.fixture(scope="module")
def browser():
    """A real browser without windows; where there is none, tests in it are skipped."""
    chromium = shutil.which("chromium")
    missing = None if chromium else "chromium is not installed: apt install chromium"
    if importlib.util.find_spec("playwright") is None:
        missing = 'playwright is not installed: pip install "secateurs[test]"'
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()

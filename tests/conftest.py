"""Settings for all tests."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # or scikit-learn skips a check; SciPy reads it when loaded

from hypothesis import HealthCheck, settings

settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "local")

"""Accuracy against size and time against scale: the numbers of both figures."""

import numpy as np
import pytest
from made_up_results import frame_of, growth, key_of, noise, plan_of, small, timed

from secateurs.paper._figure_scale import method_timings
from secateurs.paper._figure_size import method_curves


def test_size_curves_are_means_over_folds():
    plan = small("figure-size", methods=("re",), n_members=(6,), folds=(0, 1))
    frame = frame_of(plan, growth)
    (curve,) = method_curves(plan, frame)
    assert curve.sizes.tolist() == [1, 2, 3, 4, 5, 6]
    tops = [0.9 + 0.02 * noise(key_of(cell)) for cell in plan.cells()]
    assert curve.accuracy[1] == pytest.approx(100 * (np.mean(tops) - 0.1))


def test_timings_come_in_the_order_of_methods_rows_and_members():
    plan = plan_of("figure-scale", methods=("re", "comep"), n_members=(50, 100))
    found = method_timings(plan, frame_of(plan, timed).sample(frac=1, random_state=1))
    keys = [(t.method, t.n_samples, t.n_members) for t in found]
    ordered = [(m, d, n) for m in ("re", "comep") for d in (500, 5000, 50000) for n in (50, 100)]
    assert keys == ordered
    assert found[0].seconds == pytest.approx(1e-6 * 50 * 500)

"""Random votes through every method in every way, by seeds: `differential` tries many more."""

import pytest

import differential
import differential_measures
from secateurs import measures
from secateurs._methods import METHODS


@pytest.mark.parametrize("block", range(4))
def test_every_way_gives_the_answer_of_the_slow_twin(block):
    assert differential.run(range(block, 60, 4)) == []


def test_every_public_measure_is_compared():
    public = {name for name in measures.__all__ if name.islower()}
    assert public == set(differential_measures.NAMES)


def test_every_method_has_a_twin_or_is_a_framework_around_one():
    votes, y = [[0, 1], [1, 1]], [0, 1]
    from secateurs import make_pruner

    settled = {"random_state": 0, "n_iterations": 3}
    missing = []
    for name in METHODS:
        pruner = make_pruner(name, keep=1)
        known = pruner.get_params()
        pruner.set_params(**{key: value for key, value in settled.items() if key in known})
        if differential.members_by_twin(name, votes, y, pruner, 1) is None:
            missing.append(name)
    assert missing == ["domep"]  # COMEP in groups, compared with the framework in test_epfd

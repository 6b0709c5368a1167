"""Correction of leaves by honest residuals: equal to its twin, and honest."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive_refitting import correct
from secateurs.refitting._correction import LabelledLeaves, correct_leaves


@st.composite
def labelled(draw):
    """Draw small trees, given as leaves of samples, with honest cells, targets and weights."""
    rng = np.random.RandomState(draw(st.integers(0, 10_000)))
    n_trees, n_samples = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    n_outputs, n_nodes = draw(st.sampled_from([1, 2, 3])), draw(st.integers(1, 4))
    if n_outputs == 1:
        values = rng.normal(size=(n_trees, n_nodes, 1))
        targets = rng.normal(size=(n_samples, 1))
    else:
        values = rng.dirichlet(np.ones(n_outputs), size=(n_trees, n_nodes))
        targets = np.eye(n_outputs)[rng.randint(n_outputs, size=n_samples)]
    leaves = rng.randint(n_nodes, size=(n_trees, n_samples)).astype(np.int32)
    honest = rng.rand(n_trees, n_samples) < draw(st.sampled_from([0.4, 1.0]))
    weights = rng.uniform(0.2, 2, n_samples) if draw(st.booleans()) else np.ones(n_samples)
    return list(values), LabelledLeaves(leaves, honest, targets, weights, np.ones(n_trees))


@given(labelled(), st.sampled_from([0.5, 1.0, 4.0]))
def test_corrections_are_those_of_the_formula(problem, shrinkage):
    values, samples = problem
    found = correct_leaves(values, samples, shrinkage)
    expected, losses, predictions = correct(
        [tree.tolist() for tree in values],
        samples.leaves.tolist(),
        samples.honest.tolist(),
        samples.targets.tolist(),
        samples.sample_weight.tolist(),
        shrinkage,
    )
    np.testing.assert_allclose(found.losses, losses, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.array(found.values), expected, rtol=1e-9, atol=1e-12)
    for own, wanted in zip(found.predictions, predictions, strict=True):
        if wanted is not None:
            np.testing.assert_allclose(own, wanted, rtol=1e-9, atol=1e-12)


@given(labelled())
def test_losses_fall_and_zero_steps_leave_the_values_unchanged(problem):
    values, samples = problem
    found = correct_leaves(values, samples)
    assert (np.diff(found.losses) < 0).all()
    none = correct_leaves(values, samples, max_steps=0)
    assert none.n_steps == 0
    for before, after in zip(values, none.values, strict=True):
        np.testing.assert_array_equal(before, after)


@given(labelled(), st.integers(0, 11))
def test_the_first_leave_one_out_step_does_not_use_the_label_of_the_sample(problem, index):
    """With one step, a sample's own label has no effect on its leave-one-out prediction."""
    values, samples = problem
    index %= len(samples.targets)
    changed = samples.targets.copy()
    changed[index] = changed[index][::-1] if changed.shape[1] > 1 else changed[index] + 3.0
    other = LabelledLeaves(
        samples.leaves, samples.honest, changed, samples.sample_weight, samples.tree_weights
    )
    first, second = (correct_leaves(values, one, max_steps=1) for one in (samples, other))
    if first.n_steps == second.n_steps:
        np.testing.assert_allclose(
            first.predictions[index], second.predictions[index], rtol=1e-9, atol=1e-9
        )


def test_corrections_learn_a_shift_of_the_labels():
    """All values are too low by 1: the correction moves them up, and the loss falls."""
    rng = np.random.RandomState(0)
    leaves = rng.randint(3, size=(20, 60)).astype(np.int32)
    values = [np.zeros((3, 1)) for _ in range(20)]
    samples = LabelledLeaves(
        leaves, np.ones(leaves.shape, dtype=bool), np.ones((60, 1)), np.ones(60), np.ones(20)
    )
    found = correct_leaves(values, samples)
    assert found.losses[0] == 1.0
    assert found.losses[-1] < 1e-3
    np.testing.assert_allclose(np.array(found.values), 1.0, atol=0.05)

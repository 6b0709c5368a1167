"""Panels asked in turn: the same answers as the full panel, and costs that are counted."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateurs import Blend, Predictions, Votes, prune
from secateurs.exceptions import InputError
from secateurs.pruning.sequential import sequential_panel


def all_patterns(n_members, n_classes, with_missing=False):
    """Return every possible pattern of votes, masked where a member abstains."""
    codes = np.array(list(product(range(n_classes + with_missing), repeat=n_members)))
    return np.ma.masked_equal(codes, n_classes) if with_missing else codes


def full_vote(row, weights, n_classes):
    """Return the class with the largest weight, the lowest of those that tie, or None."""
    totals = [0] * n_classes
    for label, weight in zip(row, weights, strict=True):
        if label is not None and label is not np.ma.masked:
            totals[label] += weight
    return totals.index(max(totals)) if any(totals) else None


def callables(votes):
    """Return functions that look up votes by the index of the sample."""
    return [lambda rows, column=column: column[np.asarray(rows)] for column in votes.T]


@pytest.mark.parametrize("order", ["best", "cost", "weight", [1, 0, 2, 3]])
@pytest.mark.parametrize(
    "weights", [None, [3, 1, 2, 2], [0.5, 0.1, 0.2, 0.2], [0.7, 0.01, 0.2, 0.09]]
)
@pytest.mark.parametrize(("n_classes", "with_missing"), [(2, False), (3, False), (2, True)])
def test_without_tolerance_every_pattern_of_votes_has_the_answer_of_the_full_panel(
    n_classes, with_missing, weights, order
):
    votes = all_patterns(4, n_classes, with_missing)
    y = np.arange(len(votes)) % n_classes
    panel = sequential_panel(
        list("abcd"),
        Votes.encode(votes, y),
        None if weights is None else np.array(weights, dtype=float),
        cost=[4, 1, 3, 2],
        order=order,
    )
    answers, spent = panel.predict(callables(votes), np.arange(len(votes)), return_cost=True)
    units = [1] * 4 if weights is None else [round(100 * w) for w in weights]
    fallback = int(np.bincount(y).argmax())
    for row, answer in zip(votes.tolist(), answers, strict=True):
        expected = full_vote(row, units, n_classes)
        assert answer == (fallback if expected is None else expected)
    assert panel.expected_cost == pytest.approx(spent.mean())
    assert panel.agreement == 1
    if order == "best":
        assert panel.expected_cost < 10  # some patterns are decided early


def naive_cost(votes, weights, cost, order, n_classes):
    """Count the cost of asking in turn until no completion of the votes changes the winner."""
    total = 0
    for row in votes.tolist():
        for asked in range(1, len(order) + 1):
            total += cost[order[asked - 1]]
            winners = set()
            for rest in product(range(n_classes), repeat=len(order) - asked):
                labels = [row[m] for m in order[:asked]] + list(rest)
                winners.add(full_vote(labels, [weights[m] for m in order], n_classes))
            if len(winners) == 1:
                break
    return total / len(votes)


@st.composite
def panels(draw):
    n_members, n_classes = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    n_samples = draw(st.integers(1, 8))
    label = st.integers(0, n_classes - 1)
    rows = st.lists(label, min_size=n_members, max_size=n_members)
    votes = np.array(draw(st.lists(rows, min_size=n_samples, max_size=n_samples)))
    numbers = st.lists(st.integers(1, 4), min_size=n_members, max_size=n_members)
    return votes, draw(numbers), draw(numbers), n_classes


@given(panels())
def test_the_expected_cost_is_that_of_asking_until_no_completion_changes_the_winner(drawn):
    votes, weights, cost, n_classes = drawn
    n_members = len(cost)
    encoded = Votes.encode(votes).with_labels(np.arange(len(votes)) % n_classes)
    encoded = encoded._with_classes(np.arange(n_classes), False)
    for order in permutations(range(n_members)):
        panel = sequential_panel(
            [str(m) for m in range(n_members)],
            encoded,
            np.array(weights, dtype=float),
            cost,
            list(order),
        )
        assert panel.expected_cost == pytest.approx(
            naive_cost(votes, weights, cost, order, n_classes)
        )


@given(panels())
def test_the_best_order_has_the_least_expected_cost_of_all_orders(drawn):
    votes, weights, cost, n_classes = drawn
    names = [str(m) for m in range(len(cost))]
    encoded = Votes.encode(votes)._with_classes(np.arange(n_classes), False)
    given_weights = np.array(weights, dtype=float)
    best = sequential_panel(names, encoded, given_weights, cost).expected_cost
    others = [
        sequential_panel(names, encoded, given_weights, cost, list(order)).expected_cost
        for order in permutations(range(len(cost)))
    ]
    assert best == pytest.approx(min(others))


@given(panels(), st.sampled_from([0.1, 0.3]), st.integers(0, 99))
def test_no_move_of_a_member_makes_the_best_cascade_cheaper(drawn, tolerance, seed):
    votes, weights, cost, n_classes = drawn
    names = [str(m) for m in range(len(cost))]
    y = np.random.default_rng(seed).integers(n_classes, size=len(votes))
    encoded = Votes.encode(votes, y)._with_classes(np.arange(n_classes), False)

    def cascade(order):
        given_weights = np.array(weights, dtype=float)
        return sequential_panel(names, encoded, given_weights, cost, order, tolerance)

    best = cascade("best")
    assert best.accuracy_change >= -tolerance - 1e-12
    others = [cascade(order).expected_cost for order in ("cost", "weight")]
    for source, target in permutations(range(len(cost)), 2):
        order = [*best.order]
        order.insert(target, order.pop(source))
        others.append(cascade(order).expected_cost)
    assert best.expected_cost <= min(others) + 1e-9


def test_a_tolerance_lowers_the_cost_and_bounds_the_loss():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    right = rng.random((400, 7)) < [0.9, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]
    votes = np.where(right, y[:, None], 1 - y[:, None])
    names, encoded = [str(m) for m in range(7)], Votes.encode(votes, y)
    full = np.mean((votes.sum(axis=1) > 3.5) == y)
    costs = []
    for tolerance in (0, 0.01, 0.05):
        panel = sequential_panel(names, encoded, tolerance=tolerance)
        answers, spent = panel.predict(callables(votes), np.arange(400), return_cost=True)
        assert np.mean(answers == y) - full == pytest.approx(panel.accuracy_change)
        assert panel.accuracy_change >= -tolerance - 1e-12
        assert spent.mean() == pytest.approx(panel.expected_cost)
        low, high = panel.expected_cost_interval
        assert (high - low) / 2 == pytest.approx(1.959964 * spent.std() / 20)
        costs.append(panel.expected_cost)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_probabilities_are_asked_until_the_mean_is_decided():
    rng = np.random.default_rng(1)
    table = rng.dirichlet([0.2, 0.2, 0.2], size=(200, 5))
    y = table.mean(axis=1).argmax(axis=1)
    encoded = Predictions.encode(table, y)
    panel = sequential_panel(list("abcde"), encoded, np.array([0.4, 0.2, 0.2, 0.1, 0.1]))
    ask = [lambda rows, m=m: encoded.values(m)[np.asarray(rows)] for m in range(5)]
    answers, spent = panel.predict(ask, np.arange(200), return_cost=True)
    mean = encoded.average(weights=[0.4, 0.2, 0.2, 0.1, 0.1])
    assert answers.tolist() == mean.argmax(axis=1).tolist()
    assert spent.mean() == pytest.approx(panel.expected_cost)
    assert panel.expected_members < 5


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.booleans())
def test_tied_means_of_probabilities_have_the_answers_of_the_blend(seed, n_members, is_weighted):
    rng = np.random.default_rng(seed)
    # Sums of tenths tie often, but not as floats: 0.1 + 0.7 + 0.7 and 0.9 + 0.3 + 0.3.
    tenths = rng.integers(0, 11, size=(100, n_members)) / 10
    table = np.stack([1 - tenths, tenths], axis=2)
    weights = rng.integers(1, 4, n_members) / 10 if is_weighted else None
    names = [f"m{member}" for member in range(n_members)]
    blend = Blend(names, weights, [0, 1], kind="probabilities")
    panel = blend.sequential(table, cost=rng.random(n_members))
    ask = [lambda rows, m=m: table[np.asarray(rows), m] for m in range(n_members)]
    assert panel.predict(ask, np.arange(100)).tolist() == blend.predict(table).tolist()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.2]))
def test_a_cascade_costs_what_was_counted_for_any_weights(seed, tolerance):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=40)
    votes = np.where(rng.random((40, 4)) < 0.6, y[:, None], rng.integers(3, size=(40, 4)))
    weights = rng.random(4) + 0.1
    panel = sequential_panel(
        list("abcd"), Votes.encode(votes, y), weights, [1, 2, 3, 4], "weight", tolerance
    )
    answers, spent = panel.predict(callables(votes), np.arange(40), return_cost=True)
    full = np.array([full_vote(row, weights, 3) for row in votes])
    assert spent.mean() == pytest.approx(panel.expected_cost)
    assert np.mean(answers == y) - np.mean(full == y) == pytest.approx(panel.accuracy_change)


def test_every_form_of_a_missing_answer_is_an_abstention():
    panel = Blend(["a", "b"], classes=[0, 1], prior=[0.1, 0.9]).sequential([[0, 0], [1, 1]])
    nothing = pd.Series([pd.NA, pd.NA, 0, 1], dtype="Int64")
    for answers in (nothing, [None, np.nan, 0, 1], np.ma.array([0, 0, 0, 1], mask=[1, 1, 0, 0])):
        ask = [lambda rows, answers=answers: answers[rows]] if hasattr(answers, "dtype") else None
        ask = ask or [lambda rows, answers=answers: [answers[row] for row in rows]]
        assert panel.predict(ask * 2, np.arange(4)).tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("row", [[np.inf, 0], [np.nan, 0.7], [-3, 4], [0.2, 0.2]])
def test_answers_that_are_no_probabilities_are_rejected(row):
    blend = Blend(["a", "b"], classes=[0, 1], kind="probabilities")
    panel = blend.sequential([[[0.5, 0.5], [0.1, 0.9]]])
    with pytest.raises(InputError, match=r"Member '[ab]' gives sample 0 the probabilities"):
        panel.predict([lambda rows: [row] * len(rows)] * 2, np.arange(2))


def test_sample_weights_decide_the_label_that_nobody_answers():
    table = np.ma.array([[0, 1], [1, 1], [0, 0]], mask=[[0, 0], [0, 0], [1, 1]])
    pruning = prune(table, y=[0, 1, 0], pruner="es", keep=2, sample_weight=[1, 5, 1])
    ask = [lambda rows, m=m: table[np.asarray(rows), m] for m in range(2)]
    answers = pruning.sequential().predict(ask, np.arange(3)).tolist()
    assert answers == pruning.estimator.predict(table).tolist()
    assert answers[2] == 1


def test_a_member_without_weight_is_not_asked_if_the_others_abstain():
    blend = Blend(["a", "b"], weights=[0, 1], classes=[0, 1], prior=[0.1, 0.9])
    table = np.ma.array([[0, 1], [0, 0]], mask=[[False, True], [False, False]])
    panel = blend.sequential(table, cost=[5, 2])
    assert (panel.names, panel.expected_cost) == (["b", "a"], 2)
    assert panel.predict(callables(table), np.arange(2)).tolist() == [1, 0]


def test_members_are_called_only_for_undecided_samples():
    votes = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0]])
    asked = {}

    def ask(name, column):
        def answer(rows):
            asked[name] = list(rows)
            return column[rows]

        return answer

    panel = sequential_panel(list("abc"), Votes.encode(votes, [0, 1, 1]), order=["a", "b", "c"])
    members = {name: ask(name, column) for name, column in zip("abc", votes.T, strict=True)}
    assert panel.predict(members, np.arange(3)).tolist() == [0, 1, 1]
    assert asked == {"a": [0, 1, 2], "b": [0, 1, 2], "c": [1]}


def test_members_that_cannot_be_called_are_rejected():
    panel = sequential_panel(list("ab"), Votes.encode([[0, 1], [1, 1]], [0, 1]))
    with pytest.raises(InputError, match=r"The value for a in members is a list\. Pass a function"):
        panel.predict({"a": [0, 1], "b": [1, 1]}, np.arange(2))


def test_a_pruning_is_asked_in_turn_with_its_own_costs():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    votes = np.where(rng.random((200, 6)) < 0.8, y[:, None], 1 - y[:, None])
    cost = np.array([1.0, 5, 2, 2, 3, 1])
    pruning = prune(votes, y=y, cost=cost, max_cost=8, random_state=0)
    panel = pruning.sequential()
    assert panel.cost.sum() == pytest.approx(cost[pruning.member_indices].sum())
    assert panel.expected_cost <= panel.cost.sum()
    kept = votes[:, pruning.member_indices]
    answers = panel.predict(callables(kept), np.arange(200))
    expected = Votes.encode(kept, y).vote()
    assert answers.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "price"}, "order='price'"),
        ({"order": None}, "order=None"),
        ({"order": ["a", "a", "c"]}, "order=.* must contain each of the 3 members once"),
        ({"tolerance": -1}, "tolerance=-1 is not valid"),
    ],
)
def test_invalid_options_are_rejected_in_one_line(options, message):
    votes = Votes.encode([[0, 1, 1], [1, 1, 0]], [0, 1])
    with pytest.raises(InputError, match=message):
        sequential_panel(list("abc"), votes, **options)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a": None}, "has no function for b"),
        ([len], "has 1 function, but the panel has 2 members"),
        ([lambda rows: ["x"] * len(rows)] * 2, "returned 'x', which is not one of 0 and 1"),
        ([lambda rows: [0]] * 2, "returned answers of shape"),
    ],
)
def test_members_that_cannot_be_asked_are_rejected_in_one_line(members, message):
    panel = sequential_panel(list("ab"), Votes.encode([[0, 1], [1, 1]], [0, 1]))
    with pytest.raises(InputError, match=message):
        panel.predict(members, np.arange(2))


def test_regression_has_no_vote_to_decide():
    pruning = prune([[1.5, 2.0], [0.5, 1.0], [3.0, 2.5]], y=[1.7, 0.6, 2.8], keep=2)
    with pytest.raises(InputError, match="needs classes"):
        pruning.sequential()
    with pytest.raises(InputError, match="needs classes"):
        pruning.estimator.sequential([[1.5, 2.0]])


def test_a_blend_is_asked_in_turn_by_the_predictions_that_are_passed():
    rng = np.random.default_rng(2)
    y = np.array(["no", "yes"])[rng.integers(2, size=120)]
    other = np.where(y == "no", "yes", "no")
    table = {
        name: np.where(rng.random(120) < 0.8, y, other) for name in ("ant", "bee", "cat", "dog")
    }
    blend = prune(table, y=y, pruner="caruana", keep=3, random_state=0).estimator
    cost = {"ant": 4.0, "bee": 2.0, "cat": 1.0, "dog": 3.0}
    panel = blend.sequential(table, y, cost=cost)
    ask = {name: lambda rows, name=name: table[name][np.asarray(rows)] for name in blend.names}
    answers, spent = panel.predict(ask, np.arange(120), return_cost=True)
    assert answers.tolist() == blend.predict(table).tolist()
    assert spent.mean() == pytest.approx(panel.expected_cost)
    assert panel.cost.tolist() == [cost[name] for name in panel.names]
    assert panel.expected_cost < sum(cost[name] for name in blend.names)
    again = Blend.from_json(blend.to_json()).sequential(table, cost=cost)
    assert again.names == panel.names
    assert np.isnan(again.accuracy_change)


@pytest.mark.parametrize("order", ["cost", "weight", ["b", "a", "c"]])
def test_a_blend_with_an_order_needs_no_validation_samples(order):
    blend = Blend(list("abc"), weights=[3, 1, 2], classes=["x", "y"])
    panel = blend.sequential(order=order, cost={"a": 5, "b": 1, "c": 2})
    votes = np.array(list(product("xy", repeat=3)))
    answers, spent = panel.predict(
        dict(zip("abc", callables(votes), strict=True)), np.arange(8), return_cost=True
    )
    assert answers.tolist() == blend.predict(votes).tolist()
    assert spent.max() <= 8
    assert np.isnan(panel.expected_cost)
    assert "cost at most 8, the same answers" in repr(panel)
    expected = blend.sequential(votes, order=order, cost=[5, 1, 2])
    assert panel.names == expected.names
    assert spent.mean() == expected.expected_cost


@pytest.mark.parametrize(
    "options", [{}, {"order": "cost", "tolerance": 0.1}, {"order": "cost", "y": ["x"]}]
)
def test_the_best_order_and_a_tolerance_need_validation_samples(options):
    blend = Blend(["a", "b"], classes=["x", "y"])
    with pytest.raises(InputError, match="Pass them as table, or pass only order, such as cost"):
        blend.sequential(**options)


def test_a_blend_needs_the_cost_of_each_of_its_members():
    blend, table = Blend(["a", "b"], classes=[0, 1]), {"a": [0, 1], "b": [0, 0]}
    with pytest.raises(
        InputError, match=r"cost has no entry for b\. Pass a cost for each of: a, b"
    ):
        blend.sequential(table, cost={"a": 1})
    # Of the costs of all members, those of the blend count.
    panel = blend.sequential(table, cost={"x": 9, "b": 3, "a": 1})
    assert dict(zip(panel.names, panel.cost.tolist(), strict=True)) == {"a": 1, "b": 3}


def test_a_blend_without_fallback_has_no_label_for_samples_that_nobody_answers():
    blend = Blend(["a", "b"], classes=[0, 1], unanswered="missing")
    table = np.ma.masked_array([[0, 1], [1, 1], [0, 0]], [[0, 0], [0, 0], [1, 1]])
    panel = blend.sequential(table, [0, 1, 1])
    ask = [lambda rows, m=m: table[np.asarray(rows), m] for m in range(2)]
    assert panel.predict(ask, np.arange(3)).tolist() == [0, 1, None]
    assert blend.predict(table).tolist() == [0, 1, None]

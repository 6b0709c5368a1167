"""Quantities as text, in Python and on the command line."""

import pickle

import pytest

from fitted_models import CHOOSE, FIT, X, Y
from secateurs import COMEP, PrunedClassifier, compare, prune
from secateurs.exceptions import BudgetError, InputError
from secateurs.units import LATENCY, LOSS, SIZE, read_keep


@pytest.mark.parametrize(
    ("quantity", "text", "number"),
    [
        (SIZE, "20MB", 20_000_000),
        (SIZE, "1.5 KiB", 1536),
        (SIZE, "800", 800),
        (LATENCY, "10ms", 0.01),
        (LATENCY, "250µs", 0.00025),
        (LATENCY, ".5s", 0.5),
        (LOSS, "0.5%", 0.005),
        (LOSS, "1e-3", 0.001),
        (LOSS, "0", 0),
    ],
)
def test_text_with_units_is_read(quantity, text, number):
    assert quantity.read(text) == number


def test_whole_numbers_of_bytes_are_printed_without_a_point(forest):
    with pytest.raises(BudgetError, match=r"meets max_bytes=1000: the smallest takes"):
        prune(forest, X[CHOOSE], Y[CHOOSE], "best", max_bytes="1kB")


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        *((SIZE, text) for text in ("", "MB", "-1MB", "5 parsecs", "5%", "nan", "1e400")),
        *((LATENCY, text) for text in ("", "5", "ms", "2 hours")),
        *((LOSS, text) for text in ("", "%", "-0.1", "half", "0.5 %%", "inf")),
    ],
)
def test_other_text_is_refused(quantity, text):
    assert quantity.read(text) is None


@pytest.mark.parametrize("text", ["", "0", "0%", "1.5", "101%", "-3", "a tenth", "1e-1"])
def test_text_that_is_not_a_number_of_members_is_rejected(text):
    assert read_keep(text) is None


def test_budgets_as_text_equal_budgets_as_numbers(forest):
    rows, y = X[CHOOSE], Y[CHOOSE]
    settings = {"pruner": "best", "random_state": 0}
    limit = len(pickle.dumps(forest)) // 3000 * 1000
    pairs = [
        ({"max_bytes": limit}, {"max_bytes": f"{limit // 1000}kB"}),
        ({"tolerance": 0.02}, {"tolerance": "2%"}),
        ({"keep": 0.2}, {"keep": "20%"}),
        ({"keep": 7}, {"keep": "7"}),
        ({"max_latency": 60}, {"max_latency": "60s"}),
    ]
    for numbers, text in pairs:
        plain = prune(forest, rows, y, **numbers, **settings).member_indices
        assert prune(forest, rows, y, **text, **settings).member_indices.tolist() == plain.tolist()


def test_pruned_estimators_and_comparisons_take_text_too(forest):
    pruned = PrunedClassifier(forest, COMEP(keep="20%"), random_state=0).fit(X[FIT], Y[FIT])
    assert len(pruned.estimator_.estimators_) == 5
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["best"], keep="20%", random_state=0)
    assert found.sizes == [5]
    found = compare(forest, X[CHOOSE], Y[CHOOSE], ["best"], keep=["20%", 7], random_state=0)
    assert found.sizes == [5, 7]


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"max_bytes": "20 apples"}, "max_bytes='20 apples' is not a valid size. .* 5MB or 800kB"),
        ({"max_latency": "5"}, "max_latency='5' is not a valid latency. .* 2ms or 0.5s"),
        ({"tolerance": "some"}, "tolerance='some' is not a valid loss. .* 0.005 or 0.5%"),
        ({"tolerance": [1]}, r"tolerance=\[1\] is not a valid budget. .* 0.005 or 0.5%"),
        ({"keep": "120%"}, "keep='120%' is not a valid count or fraction. .* 0.1 or '10%'"),
    ],
)
def test_what_is_not_a_quantity_is_refused_with_examples(forest, budget, message):
    with pytest.raises(InputError, match=message):
        prune(forest, X[CHOOSE], Y[CHOOSE], "best", **budget)


def test_the_error_for_an_unknown_parameter_lists_the_known_ones(forest):
    message = "'diversty_weight' is not a parameter of prune.*Did you mean 'diversity_weight'"
    with pytest.raises(InputError, match=message):
        prune(forest, X[CHOOSE], Y[CHOOSE], "comep", diversty_weight=0.3)

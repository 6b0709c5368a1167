"""Tables as people have them: every form of the same predictions selects the same members."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from secateurs import Blend, compare, frontier, prune
from secateurs.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
N_SAMPLES, N_MEMBERS = 48, 5
NAMES = [f"model {member}" for member in range(N_MEMBERS)]


def masked(values, mask):
    return np.ma.array(values, mask=mask)


def with_none(values, mask):
    table = values.astype(object)
    table[mask] = None
    return table


def by_name(table, cast=np.asarray):
    return {name: cast(table[:, member]) for member, name in enumerate(NAMES)}


def polars_frame(table):
    return pl.DataFrame(by_name(table, list))


@st.composite
def gaps(draw, n_classes=2):
    """Draw true codes, probabilities of a class, and a mask of missing predictions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.arange(N_SAMPLES) % n_classes
    skill = rng.uniform(0.5, 3, N_MEMBERS)
    scores = rng.normal(size=(N_SAMPLES, N_MEMBERS, n_classes))
    scores += skill[:, None] * np.eye(n_classes)[y][:, None]
    shares = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    mask = rng.random((N_SAMPLES, N_MEMBERS)) < draw(st.sampled_from([0.0, 0.2]))
    return y, shares, mask


def selected(table, y, **options):
    pruning = prune(table, y=y, pruner="re", keep=3, **options)
    return pruning.member_indices.tolist(), pruning.estimator.predict(table).tolist()


def assert_same(tables, y, **options):
    """Check that all tables select the same members and give the same predictions."""
    results = {form: selected(table, y, **options) for form, table in tables.items()}
    first = next(iter(results.values()))
    assert all(result == first for result in results.values()), results


@given(gaps())
def test_single_probabilities_select_the_same_members_in_every_form(case):
    y, shares, mask = case
    p = shares[:, :, 1]
    nan = np.where(mask, np.nan, p)
    both = np.stack([1 - p, p], axis=2)
    frame = pd.DataFrame(nan, columns=NAMES)
    tables = {
        "masked": masked(p, mask),
        "NaN": nan,
        "None": with_none(p, mask),
        "frame": frame,
        "nullable frame": frame.convert_dtypes(),
        "polars": polars_frame(nan),
        "polars nulls": polars_frame(with_none(p, mask)),
        "dict": by_name(nan),
        "dict of lists": by_name(nan, list),
        "list of arrays": list(nan.T),
        "list of both classes": [np.stack([1 - column, column], axis=1) for column in nan.T],
        "both classes": np.where(mask[:, :, None], np.nan, both),
        "both classes, masked": masked(both, np.repeat(mask[:, :, None], 2, axis=2)),
        "model:class": pd.DataFrame(
            {
                f"{n}:{c}": nan[:, i] if c else 1 - nan[:, i]
                for i, n in enumerate(NAMES)
                for c in (1, 0)
            }
        ),
    }
    assert_same(tables, y)


@given(gaps(3))
def test_labels_select_the_same_members_in_every_form(case):
    y, shares, mask = case
    words = np.array(["ant", "bee", "cat"])
    codes = shares.argmax(axis=2)
    numeric = {
        "masked": masked(codes, mask),
        "NaN": np.where(mask, np.nan, codes),
        "None": with_none(codes, mask),
        "nested lists": with_none(codes, mask).tolist(),
        "frame": pd.DataFrame(np.where(mask, np.nan, codes), columns=NAMES),
        "nullable frame": pd.DataFrame(with_none(codes, mask), columns=NAMES).convert_dtypes(),
        "polars": polars_frame(with_none(codes, mask)),
        "list of masked arrays": [masked(codes[:, i], mask[:, i]) for i in range(N_MEMBERS)],
    }
    assert_same(numeric, y)
    text = {
        "masked": masked(words[codes], mask),
        "None": with_none(words[codes], mask),
        "StringDType": with_none(words[codes], mask).astype(np.dtypes.StringDType(na_object=None)),
        "frame": pd.DataFrame(with_none(words[codes], mask), columns=NAMES),
        "categories": pd.DataFrame(with_none(words[codes], mask), columns=NAMES).astype("category"),
        "polars": polars_frame(with_none(words[codes], mask)),
        "dict of Series": by_name(with_none(words[codes], mask), pd.Series),
        "list of Series": [pd.Series(column) for column in with_none(words[codes], mask).T],
    }
    assert_same(text, words[y])
    truth = words[y].astype(np.dtypes.StringDType())
    assert_same(text, truth)
    blend = prune(words[codes], y=truth, keep=2).estimator
    assert blend.score(words[codes], truth) == blend.score(words[codes], words[y])


@given(gaps())
def test_regression_values_select_the_same_members_in_every_form(case):
    y, shares, mask = case
    values, truth = shares[:, :, 1] * 7 + 0.25, y * 5.5 + 0.1
    tables = {
        "masked": masked(values, mask),
        "NaN": np.where(mask, np.nan, values),
        "None": with_none(values, mask),
        "frame": pd.DataFrame(np.where(mask, np.nan, values), columns=NAMES),
        "polars": polars_frame(with_none(values, mask)),
    }
    results = {
        form: prune(table, y=truth, pruner="caruana", keep=3) for form, table in tables.items()
    }
    assert len({tuple(result.member_indices) for result in results.values()}) == 1
    predicted = [result.estimator.predict(tables[form]) for form, result in results.items()]
    assert np.array_equal(predicted, [predicted[0]] * len(predicted), equal_nan=True)


def binary_case(n_samples=120):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_samples)
    noise = rng.normal(size=(n_samples, N_MEMBERS))
    return y, 1 / (1 + np.exp(-(2 * y[:, None] - 1) * np.linspace(0.3, 1.5, N_MEMBERS) - noise))


@pytest.mark.parametrize("labels", [[0, 1, 2], [-3, 5, 2**53], [0.0, 1.0, 2.0]])
def test_labels_with_gaps_keep_the_type_of_the_true_labels(labels):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(N_SAMPLES) % 3)
    codes = np.where(rng.random((N_SAMPLES, N_MEMBERS)) < 0.7, y[:, None], 0)
    mask = rng.random(codes.shape) < 0.2
    labels = np.array(labels)
    floats = np.where(mask, np.nan, labels[codes].astype(float))
    for table in (floats, floats.astype(object), by_name(floats), polars_frame(floats)):
        blend = prune(table, y=labels[y], pruner="re", keep=3).estimator
        assert blend.classes_.dtype == labels.dtype
        assert blend.predict(table).dtype == labels.dtype
        assert set(blend.predict(table).tolist()) <= set(labels.tolist())


def test_labels_as_text_and_numbers_are_not_mixed():
    y = np.arange(6) % 2
    with pytest.raises(InputError, match="some are text such as '0', others numbers such as 0"):
        prune(np.stack([y, y], axis=1).astype(str), y=y, keep=1)


def test_the_class_of_single_probabilities_is_stated():
    y, p = binary_case()
    frame = pd.DataFrame(p, columns=NAMES)
    pruning = prune(frame, y=y, keep=2)
    note = "Predictions are read as probabilities of class 1, because they are numbers from 0 to 1."
    assert note in pruning.summary().attrs["remarks"]
    assert note in pruning.summary(frame, y).attrs["remarks"]
    assert note in compare(frame, y=y, methods=["best"], keep=2).notes
    given_class = prune(frame, y=y, keep=2, positive=1)
    assert note not in given_class.summary().attrs["remarks"]
    assert given_class.member_indices.tolist() == pruning.member_indices.tolist()


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [1, 2], [False, True]])
def test_numeric_labels_need_no_positive_class(labels):
    y, p = binary_case()
    expected = prune(p, y=y, keep=2).member_indices.tolist()
    pruning = prune(p, y=np.array(labels)[y], keep=2)
    assert pruning.member_indices.tolist() == expected
    assert pruning.estimator.positive == labels[1]
    turned = prune(1 - p, y=np.array(labels)[y], keep=2, positive=labels[0])
    assert sorted(turned.member_indices.tolist()) == sorted(expected)


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [False, True], ["no", "yes"]])
def test_columns_named_by_the_other_class_are_not_read_as_the_positive_one(labels):
    y, p = binary_case()
    first, second = labels
    texts = ["0", "1"] if isinstance(first, float) else [str(first), str(second)]
    others = pd.DataFrame(1 - p, columns=[f"{name}:{texts[0]}" for name in NAMES])
    truth = np.array(labels)[y]
    with pytest.raises(InputError, match="named like a probability of class") as caught:
        prune(others, y=truth, keep=2, positive=second)
    assert "\n" not in str(caught.value)
    ragged = others.assign(**{f"{NAMES[0]}:{texts[1]}": p[:, 0]})
    with pytest.raises(InputError, match="columns of both classes for each member"):
        prune(ragged, y=truth, keep=2, positive=second)
    expected = prune(p, y=truth, keep=2, positive=second).member_indices.tolist()
    found = prune(others, y=truth, keep=2, positive=first).member_indices.tolist()
    assert sorted(found) == sorted(expected)


def test_text_labels_need_the_positive_class():
    y, p = binary_case()
    truth = np.array(["stay", "churn"])[y]
    with pytest.raises(InputError, match=r"Of which class\? Pass positive: 'churn' or 'stay'"):
        prune(p, y=truth, keep=2)
    expected = prune(p, y=y, keep=2, pruner="caruana")
    pruning = prune(p, y=truth, keep=2, positive="churn", pruner="caruana")
    assert pruning.member_indices.tolist() == expected.member_indices.tolist()
    own, other = pruning.estimator.predict_proba(p), expected.estimator.predict_proba(p)
    np.testing.assert_allclose(own[:, 0], other[:, 1])
    by_classes = prune(p, y=truth, keep=2, classes=["stay", "churn"], pruner="caruana")
    np.testing.assert_array_equal(by_classes.estimator.predict_proba(p), own)


@pytest.mark.parametrize(
    ("labels", "options", "has_hint"),
    [
        ([0, 1, 2], {}, True),
        ([0.0, 1.0, 2.0], {}, True),
        ([5, 7, 11], {"classes": [5, 7, 11]}, True),
        (["a", "b", "c"], {}, False),
    ],
)
def test_one_probability_per_model_is_not_enough_for_three_classes(labels, options, has_hint):
    p = np.random.default_rng(0).random((60, N_MEMBERS))
    y = np.array(labels)[np.arange(60) % 3]
    with pytest.raises(InputError, match=r"from 0 to 1, .* 3 different labels. Pass labels") as bad:
        prune(p, y=y, keep=2, **options)
    assert "model:class" in str(bad.value)
    assert ("pass a regression scoring, such as r2" in str(bad.value)) == has_hint
    assert "\n" not in str(bad.value)
    if has_hint and not options:
        pruning = prune(p, y=y, keep=2, scoring="r2")
        assert pruning.estimator.kind == "values"
        assert not [text for text in pruning.summary().attrs["remarks"] if "although" in text]


@pytest.mark.parametrize("labels", [[-1, 1], [1, 2], [0, 1]])
def test_margins_of_two_classes_are_not_a_regression(labels):
    y, p = binary_case()
    with pytest.raises(InputError, match=r"is not a label.* a regression metric, such as r2"):
        prune(np.log(p / (1 - p)), y=np.array(labels)[y], keep=2)
    frame = pd.DataFrame(p, columns=NAMES).assign(id=range(len(p)))
    with pytest.raises(InputError, match="Column 'id' does not have numbers from 0 to 1"):
        prune(frame, y=np.array(labels)[y], keep=2)


def test_a_regression_with_integer_targets_is_stated():
    rng = np.random.default_rng(0)
    counts = rng.poisson(12.0, size=80)
    table = counts[:, None] + rng.normal(size=(80, N_MEMBERS))
    assert len(set(counts.tolist())) > 9
    pruning = prune(table, y=counts, keep=2)
    kept = table[:, pruning.member_indices]
    means = np.average(kept, axis=1, weights=pruning.weights)
    np.testing.assert_allclose(pruning.estimator.predict(table), means)
    note = "Predictions are read as values of a regression, although y has only integers"
    costs = np.ones(N_MEMBERS)
    for texts in (
        pruning.summary().attrs["remarks"],
        pruning.summary(table, counts).attrs["remarks"],
        compare(table, y=counts, methods=["best"], keep=2).notes,
        frontier(table, y=counts, cost=costs).notes,
    ):
        assert sum(text.startswith(note) for text in texts) == 1
    for options in ({"y": counts, "scoring": "r2"}, {"y": counts + 0.5}):
        remarks = prune(table, keep=2, **options).summary().attrs["remarks"]
        assert not [text for text in remarks if text.startswith(note)]


def test_a_positive_class_is_rejected_in_regression():
    y, p = binary_case()
    for options in ({"y": y, "scoring": "r2"}, {"y": p[:, 0]}):
        with pytest.raises(InputError, match=r"^positive=1 is for probabilities of one class, but"):
            prune(p, keep=2, positive=1, **options)


def test_columns_are_found_by_a_pattern():
    y, p = binary_case()
    expected = prune(pd.DataFrame(p, columns=NAMES), y=y, keep=2).member_names
    one = pd.DataFrame({f"oof_{name}": p[:, i] for i, name in enumerate(NAMES)}).assign(id="x")
    assert prune(one, y=y, keep=2, columns="oof_{model}").member_names == expected
    both = pd.DataFrame(
        {f"{n}_p{c}": p[:, i] if c else 1 - p[:, i] for i, n in enumerate(NAMES) for c in (0, 1)}
    ).assign(fold=3)
    pruning = prune(both, y=y, keep=2, columns="{model}_p{class}")
    assert pruning.member_names == expected
    first = sorted(expected)[0]
    assert pruning.members.columns[:2].tolist() == [f"{first}_p0", f"{first}_p1"]
    assert pruning.estimator.score(both, y) == (pruning.estimator.predict(both) == y).mean()
    as_dict = {name: both[name].to_numpy() for name in both.columns}
    assert prune(as_dict, y=y, keep=2, columns="{model}_p{class}").member_names == expected


def test_a_blend_ignores_columns_of_others():
    """Those of other models, also with other classes, and of IDs."""
    rng = np.random.default_rng(0)
    y = rng.choice(["ant", "bee", "cat"], size=60)
    shares = (
        rng.dirichlet(np.ones(3), size=(60, 4)) + 2 * (y[:, None] == ["ant", "bee", "cat"])[:, None]
    )
    shares /= shares.sum(axis=2, keepdims=True)
    wide = pd.DataFrame(
        {
            f"m{i}:{c}": shares[:, i, k]
            for i in range(4)
            for k, c in enumerate(["ant", "bee", "cat"])
        }
    )
    pruning = prune(wide, y=y, pruner="joint", keep=2)
    blend = Blend.from_json(pruning.estimator.to_json())
    expected = blend.predict_proba(wide)
    others = wide.assign(**{"id": range(60), "time:utc": "noon", "m9:ant": 0.5, "m9:bee": 0.5})
    for table in (others, pl.from_pandas(others), others.to_dict("series"), shares):
        np.testing.assert_allclose(blend.predict_proba(table), expected, atol=1e-12)
    test = pruning.summary(others.iloc[:30], y[:30])
    assert test.loc["accuracy", "after"] == (blend.predict(wide)[:30] == y[:30]).mean()


def test_names_with_a_colon_are_no_columns_of_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    names = [f"{model}:{size}" for model in ("llama", "qwen") for size in ("8b", "70b")]
    votes = pd.DataFrame({name: np.where(rng.random(60) < 0.8, y, 1 - y) for name in names})
    assert set(prune(votes, y=y, keep=2).member_names) < set(names)


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [False, True]])
def test_classes_in_column_names_are_compared_as_numbers(labels):
    """Columns of a frame named 1.0 are those of class 1."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    p = rng.random((60, 4))
    truth = np.array(labels)[y]
    forms = [(0, 1), (False, True)] if truth.dtype.kind == "b" else [(0, 1), (0.0, 1.0)]
    for names in forms:
        wide = pd.DataFrame(
            {
                f"m{i}:{c}": p[:, i] if k else 1 - p[:, i]
                for i in range(4)
                for k, c in enumerate(names)
            }
        )
        assert prune(wide, y=truth, keep=2, pruner="joint").estimator.classes_.tolist() == labels
    one = pd.DataFrame({f"m{i}:{float(labels[0])}": 1 - p[:, i] for i in range(4)})
    if truth.dtype.kind != "b":
        with pytest.raises(InputError, match="is named like a probability of class 0"):
            prune(one, y=truth, keep=2)


@pytest.mark.parametrize("by_member", [True, False])
def test_columns_of_both_classes_are_not_members_of_one_class(by_member):
    """Read as one class each, half of the members would be reliably wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    p = np.clip(0.25 + 0.5 * y[:, None] + rng.uniform(-0.2, 0.2, size=(60, 3)), 0, 1)
    p[5:9, 1] = np.nan
    pairs = [(i, k) for i in range(3) for k in (0, 1)]
    pairs = pairs if by_member else sorted(pairs, key=lambda pair: pair[1])
    wide = pd.DataFrame({f"lgb{i}_{k}": p[:, i] if k else 1 - p[:, i] for i, k in pairs})
    for table, name in ((wide, "'lgb0_0' and 'lgb0_1'"), (wide.to_numpy(), "0 and ")):
        with pytest.raises(InputError, match=f"Columns {name}.*sum to 1.*of class 1. Leave out"):
            prune(table, y=y, keep=2)
    named = prune(wide, y=y, keep=2, pruner="joint", columns="{model}_{class}")
    only = prune(pd.DataFrame(p, columns=["lgb0", "lgb1", "lgb2"]), y=y, keep=2, pruner="joint")
    assert named.member_names == only.member_names


BAD = {
    "some probabilities of a row": (
        {"a": [[0.5, np.nan]] * 4, "b": [[0.5, 0.5]] * 4},
        {},
        r"Member 'a' gives sample 0 the probabilities \[0\.5 nan\], which are not all finite",
    ),
    "an ID column": (
        pd.DataFrame({"id": [1, 2, 3, 4], "a": [0.1] * 4, "b": [0.2] * 4, "c": [0.3] * 4}),
        {},
        "Column 'id' does not have numbers from 0 to 1 as the other columns do. Leave it out",
    ),
    "an ID beside classes": (
        pd.DataFrame({"id": [1] * 4, "a:0": [0.1] * 4, "a:1": [0.9] * 4}),
        {},
        "Columns are named model:class, except 'id'",
    ),
    "a class missing": (
        pd.DataFrame({"a_0": [0.1] * 4, "a_1": [0.9] * 4, "b_1": [0.9] * 4}),
        {"columns": "{model}_{class}"},
        "Member 'a' has a column for class '0', member 'b' has none",
    ),
    "no match": (
        pd.DataFrame({"a": [0.1] * 4}),
        {"columns": "oof_{model}"},
        r"No column matches columns='oof_\{model\}'. Columns: a",
    ),
    "no pattern": (
        pd.DataFrame({"a": [0.1] * 4}),
        {"columns": "oof"},
        r"columns='oof' is not a valid pattern. Pass text with \{model\}",
    ),
    "a pattern for an array": (
        np.full((4, 2), 0.5),
        {"columns": "{model}"},
        "needs a data frame, a file or a dict with named columns",
    ),
    "beyond 1": (
        np.full((4, 2), 1.5),
        {"positive": 1},
        "Member 0 gives sample 0 the probability 1.5 of class 1. Pass numbers from 0 to 1",
    ),
    "no such class": (
        np.full((4, 2), 0.5),
        {"positive": 7},
        "positive=7 is not one of the classes. Pass 0 or 1",
    ),
    "all classes and one": (
        np.full((4, 2, 2), 0.5),
        {"positive": 1},
        "positive=1 is for tables with one column per member",
    ),
}


@pytest.mark.parametrize("form", BAD)
def test_invalid_tables_are_rejected_in_one_line(form):
    table, options, message = BAD[form]
    with pytest.raises(InputError, match=message) as caught:
        prune(table, y=[0, 1, 0, 1], keep=1, **options)
    assert "\n" not in str(caught.value)


def test_costs_may_be_given_by_name():
    y, p = binary_case()
    frame, costs = pd.DataFrame(p, columns=NAMES), [3, 1, 1, 2, 2]
    expected = prune(frame, y=y, cost=costs, max_cost=4, random_state=0)
    by_cost = dict(sorted(zip(NAMES, costs, strict=True), reverse=True))
    found = prune(frame, y=y, cost=by_cost, max_cost=4, random_state=0)
    assert found.member_indices.tolist() == expected.member_indices.tolist()
    with pytest.raises(InputError, match="cost has no entry for model 0"):
        prune(frame, y=y, cost=dict.fromkeys(NAMES[1:], 1), max_cost=4)
    with pytest.raises(InputError, match="cost has entries for unknown members: other"):
        prune(frame, y=y, cost=by_cost | {"other": 1}, max_cost=4)

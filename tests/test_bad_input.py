"""Bad input is refused in one line: what came, what is allowed, what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from cases import plain
from secateurs import COMEP, DREP, PEP, SEP, Votes, all_pruners, make_pruner, prune
from secateurs._methods import METHODS
from secateurs.exceptions import SecateursWarning

VOTES, Y = [[0, 1, 1], [1, 1, 0]], [0, 1]
NAN = float("nan")


def refuses(message, call, *args, error=ValueError, **kwargs):
    with pytest.raises(error, match=message) as caught:
        call(*args, **kwargs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("votes", "y", "message"),
    [
        ([0, 1, 1], [0, 1, 1], r"votes has 1 dimension\(s\), shape=\(3,\); it must have 2"),
        (
            np.zeros((2, 2, 2), int),
            [0, 1],
            "probabilities .* must be 0 or more with a sum of 1",
        ),
        (np.zeros((2, 2, 2, 2), int), [0, 1], "votes has 4 dimension"),
        (5, [0], r"votes has 0 dimension\(s\)"),
        (np.zeros((0, 3), int), [], r"votes is empty: it has 0 sample\(s\) \(shape=\(0, 3\)\)"),
        (np.zeros((3, 0), int), [0, 1, 0], r"votes is empty: it has 0 feature\(s\)"),
        ([], [], r"votes has 1 dimension|votes is empty"),
        (np.zeros((5, 40), int), [0] * 40, r"votes looks transposed.*pass votes\.T"),
        (VOTES, [0, 1, 1, 0], r"2 samples \(shape=\(2, 3\)\) but y has 4 labels"),
        ([[0, NAN], [1, 1]], Y, "votes holds 'NaN': NaN, inf and missing values are not labels"),
        ([[0, np.inf], [1, 1]], Y, "votes holds inf"),
        ([["a", None], ["b", "b"]], ["a", "b"], "votes holds None"),
        (pd.DataFrame({"m": pd.array([0, None], dtype="Int64")}), Y, "votes holds 'NaN'"),
        ([[0.25, 0.75], [0.5, 0.5]], Y, "votes holds 0.25, which is not a label.*argmax"),
        ([[0, "a"], [1, "b"]], Y, "votes mixes kinds of labels"),
        ([[0, 1], [1]], Y, "votes is not a regular table"),
        ([[1j, 0], [0, 0]], Y, "Complex data not supported"),
        (np.zeros((2, 2), "M8[D]"), Y, "which are not labels. Pass text, integers"),
        ([[10**30, 1], [1, 1]], Y, "integers beyond 64 bits"),
        ([["a", "b"], ["b", "b"]], Y, "some are text such as 'a', others numbers such as"),
        (VOTES, [0, NAN], "y holds 'NaN'"),
        (VOTES, [0.5, 1], "y holds 0.5, which is not a label: it looks like a continuous target"),
        (VOTES, [[0, 1], [1, 0]], r"y has shape \(2, 2\)|y should be a 1d array"),
    ],
)
def test_votes_that_are_none_are_refused(votes, y, message):
    refuses(message, COMEP().fit, votes, y)


HALF = "a\ud800"


@pytest.mark.parametrize("kind", [object, str])
@pytest.mark.parametrize("where", ["votes", "y", "both"])
def test_labels_with_half_of_a_character_are_refused(kind, where):
    votes, y = np.array([["a", "b"], ["b", "b"]], dtype=kind), np.array(["a", "b"], dtype=kind)
    votes = np.where(votes == "b", HALF if where != "y" else "b", votes).astype(kind)
    y = np.where(y == "b", HALF if where != "votes" else "b", y).astype(kind)
    refuses("The label 'a.' holds half of a character", COMEP(keep=1).fit, votes, y)


def test_a_model_whose_classes_are_no_text_is_refused():
    rows, y = [[0.0], [1.0]] * 5, ["a", HALF] * 5
    forest = RandomForestClassifier(3, random_state=0).fit(rows, y)
    refuses("holds half of a character", prune, forest, rows, ["a"] * 10, keep=1)


TREE = DecisionTreeClassifier(random_state=0)
ROWS, TEXT = np.arange(40.0).reshape(20, 2), np.array(["a", "b"] * 10)
FITTED = RandomForestClassifier(3, random_state=0).fit(ROWS, TEXT)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (RandomForestClassifier, "RandomForestClassifier is a class, not a model. Pass an inst"),
        ({"a": TREE, "b": GaussianNB}, r"GaussianNB is a class.* Pass an instance: GaussianNB\(\)"),
        ([TREE, DecisionTreeRegressor()], "Member 1 is a regressor, and member 0 is not"),
    ],
)
def test_classes_and_mixed_models_are_refused(models, message):
    refuses(message, prune, models, ROWS, TEXT, keep=1, error=TypeError)


@pytest.mark.parametrize("models", [FITTED, {"a": TREE, "b": GaussianNB()}])
def test_samples_that_are_none_are_refused(models):
    swapped = r"X has shape \(20,\) and y has shape \(20, 2\): they look swapped"
    refuses(swapped, prune, models, TEXT, ROWS)
    refuses(swapped, prune, models, pd.Series(TEXT), pd.DataFrame(ROWS))
    refuses(r"X is empty: its shape is \(0, 2\)", prune, models, ROWS[:0], TEXT[:0])
    refuses("y is missing", prune, models, ROWS)
    refuses("X is missing", prune, models, y=TEXT)


def test_unfitted_models_need_samples_to_be_fitted():
    refuses("X is missing. The models are not fitted: pass X", prune, [TREE, TREE], y=TEXT)


def test_labels_of_another_coding_are_refused_with_an_example():
    forest = RandomForestClassifier(3, random_state=0).fit(ROWS, [0, 1] * 10)
    with pytest.warns(UserWarning, match="has labels that the model was not trained on"):
        refuses("Pass labels such as 0\\.", prune, forest, ROWS, [5, 6] * 10)


@pytest.mark.parametrize(
    ("tolerance", "message"),
    [
        (-1, "tolerance=-1 is not a valid budget. Pass a number of at least 0"),
        ({"balanced_accuracy": 0.1}, "other scores than accuracy.* Pass a number"),
    ],
)
def test_a_tolerance_of_exchangeable_members_is_checked(tolerance, message):
    options = {"exchangeable": True, "tolerance": tolerance}
    refuses(message, prune, VOTES * 5, y=Y * 5, **options)


def test_labels_of_a_single_class_lead_to_a_warning():
    with pytest.warns(SecateursWarning, match=r"y has one class only \(1\), so that") as caught:
        prune(VOTES * 5, y=[1] * 10, pruner="re", keep=1)
    assert [warning.filename for warning in caught] == [__file__]


def test_predictions_cannot_be_out_of_bag():
    refuses("oob=True needs a fitted ensemble", prune, VOTES, y=Y, oob=True)


@pytest.mark.parametrize("size", [{"keep": 1}, {}, {"tolerance": 0.1}])
def test_a_method_warns_once_and_names_the_line_of_the_user(size):
    case = plain(6, 60)
    with pytest.warns(UserWarning, match="got no distributions") as caught:
        prune(case[0], y=case[1], pruner="kl", **size)
    weak = [warning for warning in caught if "no distributions" in str(warning.message)]
    assert [warning.filename for warning in weak] == [__file__]


def test_sparse_votes_are_refused():
    refuses("votes is sparse", COMEP().fit, sparse.eye(3, format="csr"), [0, 1, 1], error=TypeError)


def test_identifiers_are_no_labels():
    refuses("100000 distinct labels", Votes.encode, np.arange(100_000)[:, None], np.arange(100_000))


ALLOWED = r"Pass a count up to 3, or a fraction in \(0, 1\]"


@pytest.mark.parametrize("name", all_pruners())
@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (0, "keep=0 keeps no member"),
        (-2, "keep=-2 keeps no member"),
        (4, r"keep=4 asks for more members than the ensemble has \(3\)"),
        (NAN, "keep=nan is not a valid fraction"),
        (0.0, "keep=0.0 is not a valid fraction"),
        (-0.5, "keep=-0.5 is not a valid fraction"),
        (1.5, "keep=1.5 is not a valid fraction"),
        (float("inf"), "keep=inf is not a valid fraction"),
        (True, "keep=True is not a valid count or fraction"),
        (np.bool_(True), "keep=.*True.* is not a valid count or fraction"),
        ("three", "keep='three' is not a valid count or fraction"),
        ([2], r"keep=\[2\] is not a valid count or fraction"),
    ],
)
def test_keep_that_is_none_is_refused(name, keep, message):
    refuses(f"{message}.*{ALLOWED}", make_pruner(name, keep=keep).fit, VOTES, Y)


@pytest.mark.parametrize("name", all_pruners())
def test_keep_none_is_for_methods_that_decide(name):
    pruner = make_pruner(name, keep=None)
    if METHODS[name].size_rule is not None:
        pruner.fit(VOTES, Y)
    else:
        refuses("keep=None is not a valid count or fraction", pruner.fit, VOTES, Y)


@pytest.mark.parametrize("weight", [-0.1, 1.1, NAN, "0.5", None, True])
def test_diversity_weight_lies_between_0_and_1(weight):
    message = rf"diversity_weight={weight!r} is out of range. Pass a number in \[0, 1\]"
    refuses(message, COMEP(diversity_weight=weight).fit, VOTES, Y)


@pytest.mark.parametrize("rho", [0, -1, 1.01, NAN])
def test_rho_lies_above_0_and_up_to_1(rho):
    refuses(rf"rho={rho!r} is out of range. Pass a number in \(0, 1\]", DREP(rho=rho).fit, VOTES, Y)


@pytest.mark.parametrize(
    ("pruner", "message"),
    [
        (COMEP(start="sprad"), "start='sprad' is unknown. Did you mean 'spread'"),
        (
            COMEP(start=3),
            "start=3 is not a valid member: the ensemble has 3. Pass an index from 0 to 2",
        ),
        (COMEP(start=-1), "start=-1 is not a valid member"),
        (COMEP(start=True), "start=True is unknown"),
        (COMEP(start=1.0), "start=1.0 is unknown"),
        (DREP(stop="never"), "stop='never' is unknown. Pass one of: best_prefix"),
        (SEP(n_iterations=-1), "n_iterations=-1 is not a valid number of rounds"),
        (PEP(n_iterations=2.5), "n_iterations=2.5 is not a valid number of rounds"),
        (PEP(n_iterations="all"), "n_iterations='all' is not a valid number of rounds"),
    ],
)
def test_options_that_are_none_are_refused(pruner, message):
    refuses(message, pruner.fit, VOTES, Y)


def test_unknown_pruners_are_refused_with_the_near_ones():
    refuses("pruner='comeep' is unknown. Did you mean 'comep'", make_pruner, "comeep")
    refuses("pruner='xyz' is unknown. Pass one of: comep, domep, kl", make_pruner, "xyz")
    refuses("pruner=3 is unknown", make_pruner, 3)


@pytest.mark.filterwarnings("ignore:.*(no distributions|reference direction)")
def test_one_member_is_kept_with_a_warning():
    for name in all_pruners():
        with pytest.warns(UserWarning, match="1 member: there is nothing to prune"):
            pruner = make_pruner(name).fit([[0], [1], [1]], [0, 1, 0])
        assert pruner.member_indices_.tolist() == [0]


def test_a_failed_fit_leaves_a_fitted_pruner_as_it_was():
    case = plain(6, 30)
    pruner = COMEP(keep=2).fit(*case)
    before = pruner.member_indices_.tolist()
    with pytest.raises(ValueError, match="not a valid fraction"):
        pruner.set_params(keep=2.5).partial_fit(*case)
    assert pruner.member_indices_.tolist() == before

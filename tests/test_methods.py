"""The registry of methods: lookups, and that what people read agrees with it."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import secateurs
from cases import plain
from secateurs import COMEP, EPFD, ReducedErrorPruner, all_pruners, make_pruner, pruners
from secateurs._methods import METHODS, baseline_methods, find_method, report_methods, short_name
from secateurs.evaluation.alternatives import evaluate_with_alternatives
from secateurs.exceptions import InputError
from secateurs.problem import Problem
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import pruner_label
from secateurs.search import Choice

pytestmark = pytest.mark.filterwarnings("ignore:.*(no distributions|chance would)")


class First(BasePruner):
    """Keep the first members; larger errors would be better."""

    is_nested = True
    needs_y = False
    may_decide_size = True

    def __init__(self, keep=2):
        self.keep = keep

    def _select(self, votes, n_keep, rng):
        self.objective_ = 1.0
        return Choice(range(n_keep or 1), [1.0] * (n_keep or 1))


class Careless(ReducedErrorPruner):
    """Inherits what the registry says of its base class."""


def test_every_method_has_its_class_and_its_public_name():
    assert list(all_pruners()) == list(METHODS)
    for name, kind in all_pruners().items():
        method = METHODS[name]
        assert (kind.__module__, kind.__name__) == (method.module_name, method.class_name)
        assert getattr(secateurs, method.class_name) is kind
        assert find_method(kind) is find_method(kind()) is method
        if method.path.startswith("pruners."):
            assert getattr(pruners, method.class_name) is kind
            assert method.class_name in dir(pruners)
    with pytest.raises(AttributeError, match="no attribute 'DOMEP'"):
        _ = pruners.DOMEP


def test_a_custom_class_declares_its_own_traits():
    assert find_method(First()) is short_name(First) is None
    assert len(First(keep=None).fit([[0, 1], [1, 1]]).member_indices_) == 1
    assert short_name(Careless()) is None
    assert (Careless.larger_is_better, Careless().is_nested) == (False, True)
    assert BasePruner.is_nested is False


def test_an_objective_without_a_direction_is_not_compared():
    with pytest.raises(InputError, match=r"criterion='objective' needs .* First.larger_is_better"):
        EPFD(First(), 2, "objective").fit(*plain(8, 40))


def test_reports_show_every_method_with_a_report_rank(monkeypatch):
    monkeypatch.setitem(METHODS, "new", replace(METHODS["re"], name="new", report_rank=8))
    shown = report_methods()
    assert set(METHODS) - set(shown) == {n for n, m in METHODS.items() if m.report_rank is None}
    in_order = [
        "comep",
        "domep",
        "re",
        "oep",
        "drep",
        "oo",
        "kp",
        "new",
        "best",
        baseline_methods()[-1],
    ]
    assert [name for name in shown if name in in_order] == in_order


def test_names_for_type_checkers_are_those_of_the_registry():
    text = Path(pruners.__file__).read_text("utf-8")
    named = re.findall(r"from secateurs\.(\S+) import (?:\(\s+)?(\w+) as \2", text)
    own = {"pruners.base.BasePruner", "pruners.selector.SelectorPruner"}
    assert set(map(".".join, named)) - own <= {method.path for method in METHODS.values()}


def test_a_new_method_with_a_report_rank_is_compared_in_reports(monkeypatch):
    monkeypatch.setitem(METHODS, "kl", replace(METHODS["kl"], report_rank=8))
    votes, y = plain(12, 80)
    problem = Problem.from_input(np.array(votes), None, y)
    curves = evaluate_with_alternatives(problem, COMEP(keep=3).fit(problem.predictions)).curves
    assert list(curves) == [pruner_label(make_pruner(name)) for name in report_methods()]
    assert "kl" in curves

"""Every method at every size, on rows held out: `compare` and the `Comparison` it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from secateurs._methods import baseline_methods
from secateurs.ensembles import CORRECTS
from secateurs.evaluation.alternatives import (
    FULL_ENSEMBLE,
    SINGLE_BEST,
    Methods,
    ReportSubject,
    named_pruners,
)
from secateurs.evaluation.auto_method import best_method_size, describe_advice
from secateurs.evaluation.before_after import main_held_out_score
from secateurs.evaluation.budget import full_ensemble_latency, pickle_bytes, with_member_weights
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.latency import Latency
from secateurs.evaluation.score_curve import ScoreCurve
from secateurs.evaluation.selections import (
    Selection,
    copy_with_members,
    longest_order,
    select_for_sizes,
)
from secateurs.evaluation.size_curves import AccuracyCounts, Evaluation, SizeCurve, evaluate_methods
from secateurs.exceptions import InputError
from secateurs.problem import Problem
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import BasePruner, make_pruner
from secateurs.pruners.parameters import check_option, is_number, resolve_keep
from secateurs.pruning import Pruning
from secateurs.text_format import format_count, format_list, to_json_value


def compare(
    ensemble: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    methods: Methods = "all",
    keep: float | str | Sequence[float | str] = (0.05, 0.1, 0.2),
    *,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    diversity_weight: Any = 0.5,
    scoring: Any = None,
    sample_weight: ArrayLike | None = None,
    sample_weight_test: ArrayLike | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: ProgressCallback | None = None,
) -> Comparison:
    """Prune with several methods to several sizes, and judge each result on rows held out.

    With test rows, members are chosen on X and judged on the test rows. Without, they are judged by
    cross-fitting: chosen on four fifths of X and judged on the fifth, five times; all five count
    together. Members vote as in the ensemble itself: by probabilities in a forest.

    Parameters
    ----------
    ensemble : object
        A fitted ensemble, a list or dict of fitted classifiers, or predictions (labels or
        probabilities, without X), as for `prune`.
    X : array-like of shape (n_samples, n_features)
        Rows to choose on, preferably ones that the ensemble was not trained on.
    y : array-like of shape (n_samples,)
        Their true labels.
    methods : "all", list, or dict of str to method, default="all"
        Methods, or methods by the names to show: short names, as of `all_pruners`; pruners; your
        own objects with ``fit(votes, y)`` and ``get_support()``, or their classes; functions
        ``choose(votes, y, keep)`` that return members. What every method must beat is always
        added: random members, the first ones, and the best single member. Given by short name,
        ``"sep"`` makes at most 2000 rounds and ``"pep"`` 50; for more, give
        ``PEP(n_iterations=…)``.
    keep : int, float, str or sequence of these, default=(0.05, 0.1, 0.2)
        Numbers of members to keep: counts, or fractions of the ensemble, such as 0.1 or "10%".
    X_test, y_test : array-like, optional
        Rows to judge on; for predictions, predictions of all members on other rows.
    diversity_weight : float or "auto", default=0.5
        λ of methods given by name that have one: COMEP and DOMEP.
    scoring : str or callable, optional
        The score that lines are ordered by and compared with, as for `prune`; accuracy by default,
        for regressors R².
    sample_weight, sample_weight_test : array-like, optional
        Weights of the rows of X and of X_test in scores.
    oob : bool, default=False
        X holds the training rows; use only votes on rows that a member was not trained on.
    classes, names : array-like, optional
        For predictions: the labels, in the order of the probabilities (by default the columns of
        data frames, else 0, 1, 2, …), and the names of the members.
    n_jobs : int, optional
        Number of threads used to collect votes.
    random_state : int, RandomState or None, default=None
        Random state of the methods and of the folds.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`; called after each choice of a method.

    Returns
    -------
    Comparison
        The results, as a leaderboard and as pruned ensembles.

    See Also
    --------
    prune : Prune with one method to one size.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from secateurs import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> comparison = compare(forest, X[1::2], y[1::2], ["comep", "re"], keep=[2, 5], random_state=0)
    >>> comparison
    Comparison(RandomForestClassifier of 20 members: comep λ=0.5, re, es, random; 2 or 5 kept)
    >>> len(comparison.leaderboard())  # four methods, two sizes; the best member, and all
    10
    """
    rng = check_random_state(random_state)
    seed, seed_of_folds = (int(drawn) for drawn in rng.randint(2**31, size=2))
    with watch_progress(callback):
        problem = Problem.from_input(
            ensemble,
            X,
            y,
            X_test=X_test,
            y_test=y_test,
            oob=oob,
            classes=classes,
            names=names,
            n_jobs=n_jobs,
            scoring=scoring,
            sample_weight=sample_weight,
            sample_weight_test=sample_weight_test,
        )
        if problem.ensemble.is_sequential:
            raise InputError(
                f"There is nothing to compare: of {type(problem.ensemble.model).__name__} only the "
                f"first rounds can be kept, as {CORRECTS}. Use prune."
            )
        wanted = [keep] if is_number(keep) or isinstance(keep, str) else list(keep)  # type: ignore[arg-type]
        sizes = sorted({resolve_keep(size, problem.n_members) or 1 for size in wanted})
        if not sizes:
            raise InputError(
                "{keep} asks for no size at all. Give a count, a fraction, or several.", keep=keep
            )
        pruners, notes = named_pruners(methods, problem, diversity_weight, random_state, seed)
        split = EvaluationPlan(problem, seed_of_folds)
        largest, cut = longest_order(problem, sizes)
        choosers = {
            name: partial(select_for_sizes, pruner, sizes, largest)
            for name, pruner in pruners.items()
        }
        choosers[SINGLE_BEST] = partial(select_for_sizes, make_pruner("best", keep=1), [1], None)
        curves = evaluate_methods(split, choosers, [*sizes, 1])
        return Comparison(split, curves, sizes, asides=(*cut, *notes))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Evaluation):
    """Methods and sizes side by side, on rows held out. Returned by `compare`.

    Attributes
    ----------
    problem : Problem
        The ensemble and its rows.
    curves : dict of str to SizeCurve
        What each method selects at each size, and how that does.
    sizes : list of int
        The sizes asked for.
    notes : tuple of str
        What a reader of the figures should know.
    """

    def leaderboard(self) -> pd.DataFrame:
        """Return a line for each method and size, and for all members; the best first.

        Returns
        -------
        pandas.DataFrame
            Columns: ``method``; ``keep``, the size asked for; ``members``, the number kept;
            the score on rows held out, by its name (``accuracy``, or what ``scoring`` asks for,
            signed as in scikit-learn: larger is better), with its ``standard_error``; ``change``
            against all members with its 95 % interval ``low`` to ``high`` (rows are paired);
            ``accuracy`` where another score was asked for; ``bytes`` of the
            pickle and ``ms`` to predict one row, by a line fitted to timings of a few sizes, where
            there are models; ``seconds`` to choose, which is one run for all sizes up to all
            members where smaller sets are prefixes of larger ones;
            ``pareto``, whether no other line is at least as good and cheaper (by bytes, or by
            members where there are no models).

        See Also
        --------
        pareto : The lines that no other line beats.
        """
        return self._leaderboard_table.copy()

    def pareto(self) -> pd.DataFrame:
        """Return the lines of the leaderboard that no other line beats, the cheapest first."""
        front = self._leaderboard_table[self._leaderboard_table["pareto"]]
        return front.sort_values([self.cost, self.score]).reset_index(drop=True)

    @property
    def cost(self) -> str:
        """The column of the leaderboard that measures cost."""
        return "members" if self.problem.has_only_predictions else "bytes"

    @property
    def score(self) -> str:
        """The column of the leaderboard that lines are ordered by."""
        return self.problem.scoring.name

    @property
    def best(self) -> tuple[str, int]:
        """Method and size to take: the fewest members within 0.005 of the score of all.

        For each size the method that ``pruner="auto"`` would take of those compared. If no size is
        that good, the one with the best score.
        """
        return self._best_method_size

    @cached_property
    def _best_method_size(self) -> tuple[str, int]:
        names = [name for name in self.curves if name not in {*baseline_methods(), SINGLE_BEST}]
        return best_method_size(
            self, names or [name for name in self.curves if name != SINGLE_BEST]
        )

    @property
    def advice(self) -> str:
        """What to take, in one line."""
        return describe_advice(self, *self.best)

    def pruning(self, method: str | None = None, keep: int | None = None) -> Pruning:
        """Return the pruning of a line, chosen on all rows to choose on.

        Parameters
        ----------
        method, keep : str and int, optional
            Method (or its first word, if only one has it) and size; by default, those of `best`.

        Returns
        -------
        Pruning
        """
        best = self.best if method is None or keep is None else ("", 0)
        method, keep = self._full_label(method or best[0]), keep or best[1]
        selection = self.curves[method].selection
        n_ordered = len(selection.order or ())
        if keep not in selection.sizes and not 0 < keep <= n_ordered:
            known = f"1 to {n_ordered}" if n_ordered else format_list(selection.sizes)
            raise InputError(
                f"{{keep}} was not compared for {method}. Give one of: {known}.", keep=keep
            )
        return Pruning.of(self.problem, _pruner_at_size(selection, keep))

    def members(self, method: str, keep: int) -> list[int]:
        """Return the members of a line of the leaderboard, in the order of choice."""
        if method == FULL_ENSEMBLE:
            return list(range(self.problem.n_members))
        return list(self.curves[self._full_label(method)].selection.members_at(keep))

    def _full_label(self, method: str) -> str:
        """Return the label of a method that may be given by its first word."""
        alike = [label for label in self.curves if label.partition(" ")[0] == method]
        if len(alike) != 1:
            check_option("method", method, self.curves)
        return method if method in self.curves else alike[0]

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write an HTML report of all lines, `best` in front: one file that needs nothing else.

        Parameters
        ----------
        path : str or path-like
            The file to write.
        force : bool, default=False
            Whether to overwrite an existing file.

        Returns
        -------
        Path
            The file written.

        See Also
        --------
        leaderboard : The figures alone, as a DataFrame.
        """
        from secateurs.persistence.atomic_files import check_writable
        from secateurs.report import report_data, write_report

        check_writable([Path(path)], force)  # before any work
        return write_report(report_data(self), path, force=force)

    def featured(self, *rows: Any, **more: Any) -> ReportSubject:
        """Return the `best` line among all; used by reports."""
        if any(given is not None for given in (*rows, *more.values())):
            raise InputError(
                "A comparison has its own rows. Give {X_test} and {y_test} to compare.",
                X_test=...,
                y_test=...,
            )
        lines = leaderboard_rows(self._leaderboard_table)
        return ReportSubject(self, self.pruning().pruner, *self.best, lines, self._ensemble_latency)

    @cached_property
    def _ensemble_latency(self) -> Latency | None:
        return full_ensemble_latency(self.problem)

    @cached_property
    def _leaderboard_table(self) -> pd.DataFrame:
        lines = [
            self._leaderboard_row(
                FULL_ENSEMBLE, self._full_ensemble_curve(), self.problem.n_members
            )
        ]
        for name, curve in self.curves.items():
            sizes = [1] if name == SINGLE_BEST else self.sizes
            lines += [self._leaderboard_row(name, curve, size) for size in sizes]
        board = pd.DataFrame(lines)
        board["pareto"] = pareto_mask(board[self.cost], board[self.score])
        order = [self.score, self.cost, "method"]
        return board.sort_values(order, ascending=[False, True, True], ignore_index=True)

    def _full_ensemble_curve(self) -> SizeCurve:
        """Return a curve of one size: all members."""
        n_members, known = self.problem.n_members, next(iter(self.curves.values()))
        everybody = list(range(n_members))
        whole = SizeCurve(Selection(np.array([n_members]), everybody, seconds={n_members: 0.0}))
        if not self.problem.is_regression:
            own, none = known.by_own_vote, np.zeros(1, dtype=np.int64)
            whole.by_own_vote = AccuracyCounts(
                own.n_samples, own.n_right_full, none + own.n_right_full, none, none
            )
            right = known.accuracy
            whole.accuracy = (
                right.full_ensemble_curve() if isinstance(right, ScoreCurve) else whole.by_own_vote
            )
        scored = known.main_score
        whole.main_score = (
            scored.full_ensemble_curve() if isinstance(scored, ScoreCurve) else whole.by_own_vote
        )
        return whole

    def _leaderboard_row(self, name: str, curve: SizeCurve, size: int) -> dict[str, Any]:
        selection, found = curve.selection, main_held_out_score(curve, size)
        members, place = selection.members_at(size), selection.size_index(size)
        line: dict[str, Any] = {
            "method": name,
            "keep": size,
            "members": len(members),
            self.score: found.after,
            "standard_error": float(curve.main_score.standard_error[place]),
            "change": float(curve.main_score.change[place]),
            "low": found.low,
            "high": found.high,
        }
        if self.score != "accuracy" and not self.problem.is_regression:
            line["accuracy"] = float(curve.accuracy.values[place])
        seconds = selection.seconds[max(selection.seconds) if selection.order else size]
        return line | self._model_costs(members, selection.weights.get(size)) | {"seconds": seconds}

    def _model_costs(self, members: Sequence[int], weights: Any = None) -> dict[str, float]:
        """Return the bytes and milliseconds of a sub-ensemble."""
        ensemble = with_member_weights(self.problem.ensemble, members, weights)
        if self.problem.has_only_predictions:
            return {"bytes": np.nan, "ms": np.nan}
        seconds = (
            np.nan
            if self._ensemble_latency is None
            else self._ensemble_latency.seconds_for(len(members))
        )
        return {"bytes": pickle_bytes(ensemble, members), "ms": 1e3 * seconds}

    def __repr__(self) -> str:
        model = type(self.problem.ensemble.model).__name__
        sizes = " or ".join(map(str, self.sizes))
        return (
            f"Comparison({model} of {format_count(self.problem.n_members, 'member')}: "
            f"{', '.join(name for name in self.curves if name != SINGLE_BEST)}; {sizes} kept)"
        )

    def _repr_html_(self) -> str:
        from secateurs.report.html_templates import notes_list
        from secateurs.report.sections import leaderboard

        scoring, lines = self.problem.scoring, leaderboard_rows(self._leaderboard_table)
        shown = [leaderboard.leaderboard_line(line, scoring) for line in lines]
        table = leaderboard.leaderboard_table(shown, scoring.label, scoring.larger_is_better)
        return table.__html__() + str(notes_list(self.notes))


def leaderboard_rows(board: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a leaderboard in plain values, None for missing ones."""
    lines: list[dict[str, Any]] = to_json_value(board.to_dict("records"))
    return lines


def pareto_mask(cost: Any, accuracy: Any) -> list[bool]:
    """Mark the pairs that no other pair beats: as accurate and as cheap, and better in one."""
    pairs = list(zip(cost, accuracy, strict=True))
    return [
        not any(c <= mine and a >= good and (c, a) != (mine, good) for c, a in pairs)
        for mine, good in pairs
    ]


def _pruner_at_size(selection: Selection, size: int) -> BasePruner:
    """Return the pruner fitted for a size; of a nested method, cut from that of the largest."""
    if size in selection.fitted_pruners:
        return selection.fitted_pruners[size]
    (pruner,) = selection.fitted_pruners.values()
    return copy_with_members(pruner, pruner.member_indices_[:size].tolist())

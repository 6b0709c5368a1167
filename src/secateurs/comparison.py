"""Compare methods and sizes by held-out scores: `compare`, and the `Comparison` it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

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
from secateurs.evaluation.evaluation_plan import EvaluationPlan
from secateurs.evaluation.fresh_forests import (
    FRESH,
    FreshForests,
    check_trainable,
    score_fresh_forests,
)
from secateurs.evaluation.metrics import constant_name
from secateurs.evaluation.refitted_scores import REFITTED, pruner_at_size, score_refitted
from secateurs.evaluation.score_table import Evaluation, cross_validate_selections
from secateurs.evaluation.selections import longest_order, select_for_sizes
from secateurs.exceptions import InputError, check_parameter_names
from secateurs.problem import Problem
from secateurs.problem.latency import Latency, full_ensemble_latency
from secateurs.progress import ProgressCallback, watch_progress
from secateurs.pruners import make_pruner
from secateurs.pruners.parameters import check_option, is_number, resolve_keep
from secateurs.pruning import Pruning
from secateurs.pruning.refit_options import RefitOptions, refit_members
from secateurs.refitting.refit import LeafRefit
from secateurs.report.leaderboard_table import cost_column, leaderboard_rows, leaderboard_table
from secateurs.text_format import format_count, format_list
from secateurs.typing import MissingRule, RandomStateLike, Samples, ScoringOption


@check_parameter_names
def compare(
    ensemble: object,
    X: Samples = None,
    y: ArrayLike | None = None,
    methods: Methods = "all",
    keep: float | str | Sequence[float | str] = (0.05, 0.1, 0.2),
    *,
    X_test: Samples = None,
    y_test: ArrayLike | None = None,
    diversity_weight: float | str = 0.5,
    scoring: ScoringOption = None,
    sample_weight: ArrayLike | None = None,
    sample_weight_test: ArrayLike | None = None,
    cv: Any = None,
    groups: ArrayLike | None = None,
    sensitive_features: ArrayLike | str | None = None,
    sensitive_features_test: ArrayLike | str | None = None,
    refit: bool | LeafRefit = False,
    X_unlabelled: Samples = None,
    fresh: bool = False,
    X_train: Samples = None,
    y_train: ArrayLike | None = None,
    oob: bool = False,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    positive: object = None,
    columns: str | None = None,
    missing: MissingRule | None = None,
    cost: ArrayLike | Mapping[str, float] | None = None,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
    callback: ProgressCallback | None = None,
) -> Comparison:
    """Compare several pruning methods at several sizes by their scores on held-out samples.

    With a test set, members are selected on X and scored on the test set. Without a test set, the
    scores are cross-validated: members are selected on four fifths of X and scored on the
    remaining fifth, five times, and all five folds are combined. Members vote as in the ensemble
    itself, for example by probabilities in a forest.

    Parameters
    ----------
    ensemble : object
        A fitted ensemble, a list or dict of fitted models, or predictions without X, as for
        `prune`.
    X : array-like of shape (n_samples, n_features)
        Validation samples, preferably not used for training the ensemble.
    y : array-like of shape (n_samples,)
        True labels or target values of the validation samples.
    methods : "all", list, or dict of str to method, default="all"
        The methods, or methods by the names to display. A method is a short name (see
        `all_pruners`), a pruner, an object or class of yours with ``fit(votes, y)`` and
        ``get_support()``, or a function ``choose(votes, y, keep)`` that returns members. Baselines
        are always added: random members, the first members, and the best single member. By short
        name, ``"sep"`` makes at most 2000 rounds and ``"pep"`` 50; for more, pass
        ``PEP(n_iterations=…)``.
    keep : int, float, str or sequence of these, default=(0.05, 0.1, 0.2)
        Numbers of members to keep: counts, or fractions of the ensemble, such as 0.1 or "10%".
    X_test, y_test : array-like, optional
        The test set; for predictions, predictions of all members on the test samples.
    diversity_weight : float or "auto", default=0.5
        λ of methods given by name that have this parameter: COMEP and DOMEP.
    scoring : str, callable, list or dict, optional
        The score to compare and to sort by, as for `prune`; the first of several. The leaderboard
        has a column for each. By default, accuracy for classifiers and R² for regressors.
    sample_weight, sample_weight_test : array-like, optional
        Weights of the validation samples and of the test samples in scores.
    cv, groups : optional
        The cross-validation folds, as for `prune`.
    sensitive_features, sensitive_features_test : array-like or str, optional
        The subgroup of each validation sample and of each test sample, or the name of a column of
        X. The leaderboard then has the score of the worst subgroup and the largest gap between
        subgroups, and `Comparison.score_table` has the scores of every subgroup.
    refit : bool or LeafRefit, default=False
        Whether to add rows for the members of each method after their leaves were refitted, as for
        `prune`. In cross-validation, leaves are refitted in each fold.
    X_unlabelled : array-like, optional
        Further samples for ``refit``, as for `prune`.
    fresh : bool, default=False
        Whether to train forests of the same sizes again, and to add a row for each ("fresh
        forest"). It shows whether pruning is worthwhile on your data. The forests have the
        parameters of the given forest, with the best of ``min_samples_leaf`` 1, 3, 5, 10 and its
        own value by out-of-bag score. They are trained on X with ``oob``, and otherwise on
        ``X_train`` and X. They are scored on the test set; without a test set, out of bag with
        ``oob``, and otherwise in each fold after training without its samples.
    X_train, y_train : array-like, optional
        The training samples with their labels or target values, for ``fresh`` if X was held out.
    oob : bool, default=False
        Whether X contains the training samples. Each member's votes on its own training samples
        are then ignored (out-of-bag votes).
    classes, names : array-like, optional
        For predictions: the labels in the order of the probabilities (by default the columns of
        data frames, otherwise 0, 1, 2, …), and the names of the members.
    positive : label, optional
        For predictions of a binary task: the class whose probability is given, if there is one
        column per member. By default, numbers from 0 to 1 that are not labels are read as
        probabilities of the larger of two numeric labels. Text labels need this parameter.
    columns : str, optional
        For predictions in a data frame or dict: the pattern of the column names, such as
        ``"{model}_{class}"`` for a probability of each class, or ``"oof_{model}"`` to read only
        columns with these names. Columns named ``model:class`` are recognised without it.
    missing : {"wrong", "ignore"}, optional
        What a missing prediction means, as for `prune`.
    cost : array-like of shape (n_members,) or dict, optional
        The cost of each member, in their order or by name, such as the price of a query. The
        leaderboard then has the total cost of the members, by which rows are Pareto-optimal.
    n_jobs : int, optional
        Number of threads that collect votes and run the methods. Methods of yours then run at the
        same time. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Random state of the methods and of the cross-validation folds.
    callback : callable(done, total, best), optional
        Progress callback, see `prune`. It is called after each selection by a method.

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
    >>> len(comparison.leaderboard())  # 4 methods × 2 sizes, 2 baselines, the full ensemble
    11
    """
    rng = check_random_state(random_state)
    start = deepcopy(rng)
    method_seed, fold_seed = (int(drawn) for drawn in rng.randint(2**31, size=2))
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
            positive=positive,
            columns=columns,
            missing=missing,
            n_jobs=n_jobs,
            scoring=scoring,
            sample_weight=sample_weight,
            sample_weight_test=sample_weight_test,
            cv=cv,
            groups=groups,
            sensitive_features=sensitive_features,
            sensitive_features_test=sensitive_features_test,
            cost=cost,
        )
        if fresh:
            check_trainable(problem, X_train, y_train)
        elif X_train is not None or y_train is not None:
            raise InputError("{X_train} is for {fresh} only. Pass both.", X_train=..., fresh=True)
        if problem.ensemble.is_sequential:
            raise InputError(
                f"{type(problem.ensemble.model).__name__} cannot be compared: only its first "
                f"rounds can be kept, because {CORRECTS}. Use prune."
            )
        is_single = is_number(keep) or isinstance(keep, str)
        keeps = [keep] if is_single else list(cast("Iterable[float | str]", keep))
        sizes = sorted({resolve_keep(size, problem.n_members) or 1 for size in keeps})
        if not sizes:
            raise InputError(
                "{keep} has no sizes. Pass a count, a fraction, or a list of these.", keep=keep
            )
        pruners, notes = named_pruners(
            methods, problem, diversity_weight, random_state, method_seed
        )
        plan = EvaluationPlan(problem, fold_seed, start)
        largest, order_notes = longest_order(problem, sizes)
        selectors = {
            name: partial(select_for_sizes, pruner, sizes, largest)
            for name, pruner in pruners.items()
        }
        if not problem.oob or problem.has_test_set:  # else it predicts a third of the samples only
            best = make_pruner("best", keep=1)
            selectors[SINGLE_BEST] = partial(select_for_sizes, best, [1], None)
        curves = cross_validate_selections(plan, selectors, [*sizes, 1])
        parameters = LeafRefit() if refit is True else refit
        if isinstance(parameters, LeafRefit):
            plain = {name: curve for name, curve in curves.items() if name != SINGLE_BEST}
            curves |= score_refitted(plan, plain, sizes, parameters, X_unlabelled)
        trained = score_fresh_forests(plan, sizes, X_train, y_train) if fresh else None
        asides = (*order_notes, *notes, *([] if trained is None else [trained.note]))
        return Comparison(
            plan, curves, sizes, (), asides, parameters or None, X_unlabelled, trained
        )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Evaluation):
    """Methods and sizes with their held-out scores. Returned by `compare`.

    Attributes
    ----------
    problem : Problem
        The ensemble with its validation and test samples.
    curves : dict of str to SizeCurve
        The members that each method selects at each size, and their scores.
    sizes : list of int
        The numbers of members that were compared.
    notes : tuple of str
        Notes for the reader of the figures.
    refit : LeafRefit or None
        How leaves were refitted, if refitted members were compared.
    fresh : FreshForests or None
        The forests that were trained for ``fresh=True``, by size in ``fresh.forests``.
    """

    refit: LeafRefit | None = None
    X_unlabelled: Samples = None
    fresh: FreshForests | None = None

    def leaderboard(self) -> pd.DataFrame:
        """Return a table with a row for each method and size and for the full ensemble.

        Returns
        -------
        pandas.DataFrame
            The best row comes first. Besides the methods, there are rows for the full ensemble
            ("all members"), for the best single member ("single best"; not by out-of-bag votes),
            and for always predicting the most frequent class ("majority class"; the class
            frequencies for scores of probabilities), or the mean of the target. With
            ``fresh=True``, there is a row for the fresh forest of each size. Columns:

            - ``method``; ``keep``, the size asked for; ``members``, the number of kept members.
            - The held-out score, under its name (``accuracy``, or that of ``scoring``, with the
              sign of scikit-learn's scorers: larger is better), and its ``standard_error``.
            - ``change`` against the full ensemble on the same samples, and its 95 % interval from
              ``low`` to ``high``.
            - ``accuracy``, if ``scoring`` is another score, and the other scores of ``scoring``.
            - ``worst_subgroup``, the score of the worst subgroup, and ``subgroup_gap``, the
              largest difference between subgroups, if there are ``sensitive_features``.
            - ``coverage``, the fraction of the samples that at least one kept member predicts, if
              a table has missing predictions.
            - ``cost``, the total cost of the kept members, if members have costs.
            - ``bytes`` of the pickle, and ``ms`` to predict one sample, estimated by a line fitted
              to timings of a few sizes. Missing for predictions.
            - ``seconds`` of the selection. For methods whose smaller sets are prefixes of larger
              sets, it is the time of one run for all sizes. For a fresh forest, the time to train
              forests of all leaf sizes.
            - ``pareto``, whether no other row is at least as good and cheaper (in cost if
              members have costs, otherwise in bytes, or in members for predictions).

        See Also
        --------
        pareto : Return the Pareto-optimal rows.
        """
        return self._leaderboard_table.copy()

    def pareto(self) -> pd.DataFrame:
        """Return the Pareto-optimal rows of the leaderboard, the cheapest first."""
        front = self._leaderboard_table[self._leaderboard_table["pareto"]]
        return front.sort_values([self.cost, self.score]).reset_index(drop=True)

    @property
    def member_coverage(self) -> dict[str, float]:
        """The fraction of the validation samples that each member predicts, by its name."""
        names, coverage = self.problem.ensemble.member_names, self.problem.member_coverage
        return dict(zip(names, coverage.tolist(), strict=True))

    @property
    def cost(self) -> str:
        """The column of the leaderboard that measures cost."""
        return cost_column(self.problem)

    @property
    def score(self) -> str:
        """The column of the leaderboard that rows are sorted by."""
        return self.problem.scoring.key

    @cached_property
    def best(self) -> tuple[str, int]:
        """Best method and size: the fewest members within 0.005 of the full ensemble's score.

        At each size, the method is the one that ``pruner="auto"`` would select among those
        compared. If no size is within 0.005, and in a library of different models, it is the
        method and size with the best score.
        """
        names = [name for name in self.curves if name not in {*baseline_methods(), SINGLE_BEST}]
        return best_method_size(
            self, names or [name for name in self.curves if name != SINGLE_BEST]
        )

    @property
    def advice(self) -> str:
        """The recommended method and size with their score, in one line.

        With ``fresh=True``, the line ends with the score of a fresh forest of that size.
        """
        method, size = self.best
        line = describe_advice(self, method, size)
        if self.fresh is None:
            return line
        return f"{line}; {self.fresh.describe_score(size, self.problem.scoring)}"

    def pruning(self, method: str | None = None, keep: int | None = None) -> Pruning:
        """Return the pruning of a row of the leaderboard, selected on all validation samples.

        Parameters
        ----------
        method, keep : str and int, optional
            Method and size; by default, those of `best`. The first word of a method's name is
            enough if it is unique.

        Returns
        -------
        Pruning
        """
        best = self.best if method is None or keep is None else ("", 0)
        method, keep = self._full_label(method or best[0]), keep or best[1]
        selection = self.curves[method].selection
        if method.endswith(REFITTED) and self.refit is not None and keep in selection.sizes:
            options = RefitOptions(self.refit, self.X_unlabelled)
            pruner = selection.fitted_pruners[keep]
            problem = refit_members(self.problem, pruner, options, check_random_state(0))
            return Pruning.of(problem, pruner)
        n_ordered = len(selection.order or ())
        if keep not in selection.sizes and not 0 < keep <= n_ordered:
            sizes = f"1 to {n_ordered}" if n_ordered else format_list(selection.sizes)
            raise InputError(
                f"{{keep}} was not compared for {method}. Pass one of: {sizes}.", keep=keep
            )
        return Pruning.of(self.problem, pruner_at_size(selection, keep))

    def members(self, method: str, keep: int) -> list[int]:
        """Return the members of a row of the leaderboard, in the order of selection."""
        if method == FULL_ENSEMBLE:
            return list(range(self.problem.n_members))
        if method in (FRESH, constant_name(self.problem.scoring)):
            return []
        return list(self.curves[self._full_label(method)].selection.members_at(keep))

    def _full_label(self, method: str) -> str:
        """Return the label of a method that may be given by the first word of its label."""
        matching = [label for label in self.curves if label.partition(" ")[0] == method]
        if len(matching) != 1:
            check_option("method", method, self.curves)
        return method if method in self.curves else matching[0]

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write an HTML report of all methods and sizes, which describes `best` in detail.

        The page is a single file without external resources.

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
        leaderboard : Return the figures as a DataFrame.
        """
        from secateurs.persistence.atomic_files import check_writable
        from secateurs.report import report_data, write_report

        check_writable([Path(path)], force)  # raise errors before the long computation
        return write_report(report_data(self), path, force=force)

    def featured(self, *samples: object, **options: object) -> ReportSubject:
        """Return `best` among all methods and sizes; used by reports."""
        if any(value is not None for value in (*samples, *options.values())):
            raise InputError(
                "A comparison has its own test set. Pass {X_test} and {y_test} to compare.",
                X_test=...,
                y_test=...,
            )
        rows = leaderboard_rows(self._leaderboard_table)
        # The page draws curves by size, which refitted members do not have.
        names = [name for name in self.curves if not name.endswith(REFITTED)]
        plain = replace(self, curves={name: self.curves[name] for name in names})
        pruner = plain.pruning().pruner
        return ReportSubject(plain, pruner, *plain.best, rows, self._ensemble_latency)

    @cached_property
    def _ensemble_latency(self) -> Latency | None:
        return full_ensemble_latency(self.problem)

    @cached_property
    def _leaderboard_table(self) -> pd.DataFrame:
        return leaderboard_table(self, self._ensemble_latency, self.fresh)

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

        scoring, rows = self.problem.scoring, leaderboard_rows(self._leaderboard_table)
        lines = [leaderboard.leaderboard_line(row, scoring) for row in rows]
        table = leaderboard.leaderboard_table(lines, scoring.label, scoring.larger_is_better)
        # As plain text: adding text to Markup would escape it.
        return str(table.__html__()) + str(notes_list(self.notes))

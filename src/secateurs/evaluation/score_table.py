"""The score table: held-out scores of selections, by method, size, score and subgroup.

`cross_validate_selections` computes every score that decides or is shown. Accuracy is counted in
numbers of samples, so that folds add up exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from secateurs._renamed_modules import restore_renamed
from secateurs.evaluation.evaluation_plan import EvaluationPlan, Fold
from secateurs.evaluation.selections import MemberSelector, Selection
from secateurs.measures.score_curve import CurveKey, ScoreCurve
from secateurs.measures.scoring import Scoring
from secateurs.measures.vote_counts import AccuracyCounts, VoteBlock, count_correct
from secateurs.problem import Problem
from secateurs.progress import open_stage
from secateurs.pruners import BasePruner
from secateurs.pruners.selector import can_use_sample_weight
from secateurs.text_format import format_list
from secateurs.typing import Array, IndexArray, MemberIndices

_REFITTED = (
    "The kept members were refitted. Curves and cross-validated scores are those of the members "
    "before refitting; scores on a test set are those of the refitted members."
)
_MOST_NAMED = 10  # members whose coverage is named
_WEIGHED = (
    "The weights of members were optimised for the size that is kept. At other sizes, and for "
    "other methods, all members have the same weight."
)


@dataclass(eq=False)
class SizeCurve:
    """The members that a method selects at each size, and their scores on held-out samples.

    Regression has neither ``by_labels`` and ``by_own_vote`` nor ``accuracy``.
    """

    __setstate__ = restore_renamed(
        labels="by_labels",
        own="by_own_vote",
        scored="main_score",
        predicted="predicted_codes",
        parts="fold_selections",
    )

    selection: Selection  # on all validation samples
    by_labels: AccuracyCounts = field(init=False)  # counting labels
    by_own_vote: AccuracyCounts = field(init=False)  # with the ensemble's own vote
    # The score to optimise; ``by_own_vote`` if that is the accuracy.
    main_score: AccuracyCounts | ScoreCurve = field(init=False)
    # The accuracy of the ensemble's own vote, with sample weights if there are any.
    accuracy: AccuracyCounts | ScoreCurve = field(init=False)
    # Codes predicted for the scored samples by the own vote, for the sizes asked for.
    predicted_codes: dict[int, Array] = field(default_factory=dict)
    # For each fold: the held-out samples, and the selection without them.
    fold_selections: list[tuple[IndexArray | None, Selection]] = field(default_factory=list)
    # All scores, also of subgroups, by the key of the score and the name of the subgroup.
    scores: dict[CurveKey, ScoreCurve] = field(default_factory=dict)

    def score(self, key: str, subgroup: str | None = None) -> AccuracyCounts | ScoreCurve:
        """Return the curve of one of the scores; exact counts for plain accuracy."""
        if key == "accuracy" and subgroup is None and hasattr(self, "accuracy"):
            return self.accuracy
        return self.scores.get((key, subgroup), self.main_score)

    @property
    def subgroups(self) -> list[str]:
        """The names of the subgroups of samples."""
        return list(dict.fromkeys(name for _, name in self.scores if name is not None))

    def at_full_ensemble(self, n_members: int) -> SizeCurve:
        """Return the curve of a single size, the full ensemble."""
        members = list(range(n_members))
        full = SizeCurve(Selection(np.array([n_members]), members, seconds={n_members: 0.0}))
        for name in ("by_own_vote", "main_score", "accuracy"):
            if hasattr(self, name):
                setattr(full, name, getattr(self, name).at_full_ensemble())
        full.scores = {key: curve.at_full_ensemble() for key, curve in self.scores.items()}
        return full


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Methods at several sizes, scored on the same samples: the table of all scores."""

    split: EvaluationPlan
    curves: Mapping[str, SizeCurve]  # by the names of the methods
    sizes: list[int]
    remarks: tuple[str, ...] = ()  # on the selection itself
    asides: tuple[str, ...] = ()  # on methods that were left out or shortened

    @property
    def problem(self) -> Problem:
        """The ensemble with its validation and test samples."""
        return self.split.problem

    def score_table(self) -> pd.DataFrame:
        """Return all scores as a tidy table: a row per method, size, score and subgroup.

        Returns
        -------
        pandas.DataFrame
            Columns: ``method``, ``keep``, ``score`` (the key of the score), ``subgroup`` (None for
            all samples), ``value``, ``standard_error``, ``change`` against the full ensemble on
            the same samples, and its 95 % interval from ``low`` to ``high``. Larger is better, as
            for scikit-learn's scorers.
        """
        rows = []
        for name, curve in self.curves.items():
            for size in curve.selection.sizes[np.isin(curve.selection.sizes, self.sizes)].tolist():
                index = curve.selection.size_index(size)
                for scoring in self.problem.scorings:
                    for subgroup in (None, *curve.subgroups):
                        row = score_row(curve.score(scoring.key, subgroup), index)
                        labels = {"method": name, "keep": size, "score": scoring.key}
                        rows.append(labels | {"subgroup": subgroup} | row)
        return pd.DataFrame(rows)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the figures."""
        return (*self.notes_on_figures, *self.notes_on_methods())

    @property
    def notes_on_figures(self) -> tuple[str, ...]:
        """Notes on the figures of all methods."""
        notes = [*self.problem.ensemble.notes]
        notes += [_REFITTED] if self.problem.refitted is not None else []
        notes += [_WEIGHED] if self.problem.weighing else []
        if self.problem.sample_weight is not None:
            fitted = {name: c.selection.fitted_pruners for name, c in self.curves.items()}
            notes.append(
                describe_sample_weights({name: f[max(f)] for name, f in fitted.items() if f})
            )
        notes += coverage_remarks(self.problem, range(self.problem.n_members))
        return (self.judged_on, *notes, *self.remarks)

    def notes_on_methods(self, *without: str) -> tuple[str, ...]:
        """Return the notes on methods, except those named."""
        notes = [
            f"{name}: {note}"
            for name, curve in self.curves.items()
            if name not in without
            for note in curve.selection.notes
        ]
        return (*self.asides, *dict.fromkeys(notes))

    @property
    def judged_on(self) -> str:
        """The samples that the scores come from, in words."""
        return self.split.description


def score_row(curve: AccuracyCounts | ScoreCurve, index: int) -> dict[str, float]:
    """Return the score at one size, its standard error, its change and the interval of that."""
    change, half = float(curve.change[index]), float(curve.half_width[index])
    return {
        "value": float(curve.values[index]),
        "standard_error": float(curve.standard_error[index]),
        "change": change,
        "low": change - half,
        "high": change + half,
    }


def cross_validate_selections(
    plan: EvaluationPlan,
    selectors: Mapping[str, MemberSelector],
    sizes: Sequence[int],
    selections: Mapping[str, Selection] | None = None,
    *,
    title: str = "evaluating methods",
    only_folds: bool = False,
    by_labels: bool | None = None,
    scorings: Sequence[Scoring] | None = None,
) -> dict[str, SizeCurve]:
    """Select members by each selector in each fold, and score them at every size.

    Parameters
    ----------
    plan : EvaluationPlan
        The folds or the test set.
    selectors : dict of str to callable
        Functions that return the `Selection` for a problem, by name.
    sizes : sequence of int
        Sizes for which standard errors, predicted codes, further scores and scores of subgroups
        are computed; the first score is computed for all sizes.
    selections : dict of str to Selection, optional
        Selections on all validation samples that are known already.
    title : str
        The stage that progress is reported for.
    only_folds : bool, default=False
        Whether the selection on all validation samples is not needed. The curves then have the
        selection of the first fold.
    by_labels : bool, optional
        Whether scores are computed from the members' labels rather than from the ensemble's own
        vote. If it is set, no exact counts are made.
    scorings : sequence of Scoring, optional
        The scores to compute, for all sizes and subgroups; by default, those of the problem.

    Returns
    -------
    dict of str to SizeCurve
    """
    known, problem = dict(selections or {}), plan.problem
    requested = list(problem.scorings if scorings is None else scorings)
    counts_votes = by_labels is None and not problem.is_regression
    is_counted = counts_votes and problem.is_plain_accuracy and not plan.has_subgroups
    scored = [s for s in requested if not (is_counted and s.name == "accuracy")]
    accuracy = next((s for s in scored if s.name == "accuracy"), None)
    if counts_votes and accuracy is None and problem.sample_weight is not None:
        # The weighted accuracy is shown beside the score.
        accuracy = Scoring.from_scorer("accuracy", problem.predictions.classes)
        scored.append(accuracy)
    everywhere = None
    if scorings is None:
        everywhere = {requested[0].key, "" if accuracy is None else accuracy.key}
    n_known = len(selectors) if only_folds else len(known)
    total = len(selectors) * plan.n_selections - n_known

    def select(name: str, samples: Problem) -> Selection:
        with open_stage("selecting"):  # so that steps of a search do not count as selections
            selection = selectors[name](samples)
        steps.step()
        return selection

    def select_all(samples: Problem, known: Mapping[str, Selection]) -> dict[str, Selection]:
        names = [name for name in selectors if name not in known]
        # Threads suffice: kernels release the GIL. Each selection has its own random state.
        selected = Parallel(n_jobs=problem.n_jobs, require="sharedmem")(
            delayed(copy_context().run)(select, name, samples) for name in names
        )
        return {**known, **dict(zip(names, selected, strict=True))}

    with open_stage(title, max(1, total)) as steps:
        curves: dict[str, SizeCurve] = {}
        if not only_folds or not plan.has_folds:
            selected = select_all(problem, known)
            curves = {name: SizeCurve(selected[name]) for name in selectors}
        for fold in plan.iter_folds():
            is_same = fold.problem is problem
            found = {name: curve.selection for name, curve in curves.items()} if is_same else {}
            selected = select_all(fold.problem, found)
            curves = curves or {name: SizeCurve(selected[name]) for name in selectors}
            for name, curve in curves.items():
                curve.fold_selections.append((fold.held_out, selected[name]))
            for block in fold.vote_blocks() if counts_votes else ():
                for name, curve in curves.items():
                    _add_vote_block(curve, selected[name], block, fold, sizes)
            for name, curve in curves.items() if scored else ():
                selection = selected[name]
                indices = [selection.size_index(s) for s in sizes if s in selection.sizes]
                added = fold.score_groups(
                    selection.member_groups,
                    scored,
                    indices,
                    selection.group_weights,
                    by_labels=bool(by_labels),
                    everywhere=everywhere,
                )
                add_scores(curve.scores, added)
    for curve in curves.values():
        if problem.cross_validation.groups is not None:
            curve.scores = {key: c.with_fold_variances() for key, c in curve.scores.items()}
        if counts_votes:
            scores = None if accuracy is None else curve.scores[accuracy.key, None]
            curve.accuracy = curve.by_own_vote if scores is None else scores
        main = curve.scores.get((requested[0].key, None))
        curve.main_score = curve.by_own_vote if main is None else main
    return curves


def coverage_remarks(problem: Problem, members: MemberIndices) -> list[str]:
    """Return the coverage of some members, in words, if predictions are missing.

    Members of a table are named. Out-of-bag votes on a test set are complete.
    """
    if problem.oob and not problem.has_test_set:
        share = float(problem.member_coverage.mean())
        return [
            f"Out-of-bag: a member predicts about {100 * share:.0f} % of the samples, so that the "
            "scores of few members are lower here than on new samples."
        ]
    if not problem.shows_coverage:
        return []
    coverage, names = problem.member_coverage, problem.ensemble.member_names
    fewest = sorted(members, key=coverage.__getitem__)[:_MOST_NAMED]
    texts = [f"{names[member]} {100 * coverage[member]:.1f} %" for member in fewest]
    lowest = "the lowest are " if len(fewest) < len(members) else ""
    rule = "count as wrong" if problem.missing_rule == "wrong" else "are ignored"
    return [
        f"Coverage, the fraction of the validation samples that a member predicts: {lowest}"
        f"{format_list(texts, ' and ')}. Missing predictions {rule}."
    ]


def constant_scores(
    plan: EvaluationPlan, scorings: Sequence[Scoring] | None = None
) -> dict[CurveKey, ScoreCurve]:
    """Return the held-out scores of always predicting the most frequent class, or the mean."""
    scores: dict[CurveKey, ScoreCurve] = {}
    requested = list(plan.problem.scorings if scorings is None else scorings)
    for fold in plan.iter_folds():
        add_scores(scores, fold.score_constant(requested))
    return scores


def add_scores(total: dict[CurveKey, ScoreCurve], added: Mapping[CurveKey, ScoreCurve]) -> None:
    """Add the scores of a fold to those of earlier folds."""
    for key, curve in added.items():
        total[key] = total[key] + curve if key in total else curve


def describe_sample_weights(pruners: Mapping[str, BasePruner]) -> str:
    """Return how sample weights are used, and which methods ignore them, in words."""
    without = [name for name, pruner in pruners.items() if not can_use_sample_weight(pruner)]
    if not without:
        return "Sample weights are used in scores and in the selection."
    names = format_list(without, " and ")
    return f"Sample weights are used in scores, but not in the selection by {names}."


def full_ensemble_vote(plan: EvaluationPlan) -> Array:
    """Return the codes that the full ensemble predicts for the scored samples, by its own vote."""
    samples = plan.scored_samples
    predicted = np.empty(samples.votes.n_samples, dtype=np.intp)
    members = range(samples.votes.n_members)
    for block in samples.vote_blocks():
        predicted[block.sample_indices] = next(block.winning_codes([members], own=True))
    return predicted[plan.scored_indices]


def _add_vote_block(
    curve: SizeCurve, selection: Selection, block: VoteBlock, fold: Fold, sizes: Sequence[int]
) -> None:
    """Add the counts of a block of samples to a curve."""
    groups = selection.member_groups
    indices = {size: selection.size_index(size) for size in sizes if size in selection.sizes}
    options = indices.values(), selection.group_weights
    by_labels, codes = count_correct(block, groups, False, *options)
    by_own_vote = by_labels
    if block.contributions is not None:
        by_own_vote, codes = count_correct(block, groups, True, *options)
    is_first = not hasattr(curve, "by_own_vote")
    curve.by_labels = by_labels if is_first else curve.by_labels + by_labels
    curve.by_own_vote = by_own_vote if is_first else curve.by_own_vote + by_own_vote
    n_scored = len(fold.plan.scored_indices)
    positions = fold.block_positions(block)
    for size, index in indices.items():
        predicted = curve.predicted_codes.setdefault(size, np.empty(n_scored, dtype=np.intp))
        predicted[positions] = codes[index]

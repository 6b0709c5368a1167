"""Forests of XGBoost and LightGBM: any of their trees can be kept, by rewriting the model.

They average margins (raw scores, as in boosting) and turn the mean into probabilities. For a
member of a classifier, shares are collected: an affine function of its margins that sums to 1. The
mean of shares represents the mean of margins, and ``margin_scale`` turns it into probabilities.
"""

import copy
import json
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, is_regressor

from secateurs.ensembles._base_ensemble import Ensemble
from secateurs.exceptions import UnsupportedEnsembleError
from secateurs.typing import Array, FloatArray, IndexArray, JsonObject, Samples

# Leaf values of each tree, tree indices (members × margins) and base margins.
_Trees: TypeAlias = tuple[list[FloatArray], IndexArray, FloatArray]


class _MarginForest(Ensemble):
    """A forest that averages margins; a member is a tree, or a tree for each class."""

    is_soft = True
    leaf_values: list[FloatArray]  # for each tree, the margin of each leaf
    tree_indices: IndexArray  # the trees of each member: (n_members, n_margins)
    base_margins: FloatArray  # the constant that is added to each margin: (n_margins,)

    def __init__(self, model: BaseEstimator) -> None:
        classes = np.empty(0) if is_regressor(model) else np.asarray(model.classes_)
        self.leaf_values, self.tree_indices, self.base_margins = self._read_trees(model)
        super().__init__(model, range(len(self.tree_indices)), classes)
        if not self.is_regression:
            largest_leaf = max(np.abs(leaf).max() for leaf in self.leaf_values)
            highest = np.abs(self.base_margins).max() + largest_leaf
            # Upper bound of a margin's distance from the mean of its sample, so that no share is
            # negative: see `predicted_probabilities`.
            farthest = highest / 2 if self.tree_indices.shape[1] == 1 else 2 * highest
            self.margin_scale = len(classes) * float(farthest or 1.0)

    @abstractmethod
    def _read_trees(self, model: BaseEstimator) -> _Trees:
        """Return the leaf values, the tree indices and the base margins of a model."""

    @abstractmethod
    def _leaf_indices(self, X: Samples) -> Array:
        """Return the index of the leaf of each sample in each tree: (samples, trees)."""

    def _convert_input(self, X: Samples) -> Array:
        leaves = np.asarray(self._leaf_indices(X)).reshape(-1, len(self.leaf_values))
        leaves = leaves.astype(np.int32)
        total = sum(self._member_margins(leaves, member) for member in range(self.n_members))
        if self.is_regression:
            computed, expected = np.ravel(total / self.n_members), self.model.predict(X)
        else:
            computed = softmax(total / self.n_members, axis=1)
            expected = self.model.predict_proba(X)
        # Both libraries predict in single precision, which the tolerances allow for.
        is_close = computed.shape == np.shape(expected) and np.allclose(
            computed, expected, rtol=1e-4, atol=1e-5
        )
        if not is_close:
            raise UnsupportedEnsembleError(
                f"{type(self.model).__name__} does not predict the mean of its trees, so the "
                "predictions of a subset of them are unknown. Fit it with the default objective "
                "and one output."
            )
        return leaves

    def _member_margins(self, leaves: Array, member: int) -> FloatArray:
        """Return a member's margins from the leaf of each sample: (samples, 1 or classes)."""
        trees = self.tree_indices[member]
        margins = np.stack([self.leaf_values[tree][leaves[:, tree]] for tree in trees], axis=1)
        margins += self.base_margins
        if self.is_regression or margins.shape[1] > 1:
            return margins
        # softmax of (−m/2, m/2) is the sigmoid of m, the probability of the second class.
        return np.concatenate([-margins / 2, margins / 2], axis=1)

    def _leaf_factors(self, members: Sequence[int]) -> FloatArray:
        """Return the factors of the members' leaves that make their plain mean a weighted mean."""
        weights = np.ones(len(members)) if self.weights is None else self.weights[list(members)]
        return weights * len(weights) / weights.sum()

    def predicted_values(self, X: Array, member: int) -> FloatArray:
        """Return a regressor's predictions on prepared X: the leaf indices of the samples."""
        return np.ravel(self._member_margins(X, member))

    def predicted_codes(self, X: Array, member: int) -> Array:
        """Return a member's votes on prepared X, as indices of the ensemble's classes."""
        return self._member_margins(X, member).argmax(axis=1)

    def predicted_probabilities(self, X: Array, member: int) -> FloatArray:
        """Return a member's margins on prepared X as shares that sum to 1: (samples, classes)."""
        assert self.margin_scale is not None
        margins = self._member_margins(X, member)
        margins -= margins.mean(axis=1, keepdims=True)
        return 1.0 / len(self.classes) + margins / self.margin_scale


class XGBoostForest(_MarginForest):
    """XGBRFClassifier and XGBRFRegressor: the only round of boosting, of many trees."""

    def _read_trees(self, model: BaseEstimator) -> _Trees:
        from xgboost import DMatrix

        booster = model.get_booster()
        self._model_json = json.loads(booster.save_raw("json"))
        trees = self._booster_model(self._model_json)["trees"]
        groups = np.asarray(self._booster_model(self._model_json)["tree_info"])
        tree_indices = np.stack(
            [np.flatnonzero(groups == group) for group in np.unique(groups)], axis=1
        )
        leaf_values = []
        for tree in trees:
            # XGBoost stores the value of a leaf as its split condition. The margin is the sum of
            # the trees, so that each leaf holds one n-th of its tree's margin.
            is_leaf = np.asarray(tree["left_children"]) < 0
            leaf_values.append(len(tree_indices) * np.where(is_leaf, tree["split_conditions"], 0.0))
        # The stored base score is before the objective's transformation, so the base margin is
        # computed: the margin of one sample (all values missing) minus the mean of its leaves.
        types = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
        probe = DMatrix(np.full((1, booster.num_features()), np.nan), **types)
        leaves = booster.predict(probe, pred_leaf=True).reshape(-1).astype(int)
        added = np.array([leaf_values[tree][leaf] for tree, leaf in enumerate(leaves)])
        margins = np.ravel(booster.predict(probe, output_margin=True)).astype(float)
        return leaf_values, tree_indices, margins - added[tree_indices].mean(axis=0)

    @staticmethod
    def _booster_model(model_json: JsonObject) -> JsonObject:
        return model_json["learner"]["gradient_booster"]["model"]

    def _leaf_indices(self, X: Samples) -> Array:
        return self.model.apply(X)

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
        from xgboost import Booster

        kept = self.tree_indices[list(members)].T.ravel().tolist()
        learner, model = self._model_json["learner"], self._booster_model(self._model_json)
        # Leaves hold the tree's share of the mean, which grows when fewer trees are averaged.
        growth = self.n_members / len(members)
        factors = np.tile(growth * self._leaf_factors(members), self.tree_indices.shape[1])
        counts = {"num_trees": str(len(kept)), "num_parallel_tree": str(len(members))}
        model = model | {
            "trees": [
                _scale_xgboost_tree(model["trees"][tree], index, factor)
                for index, (tree, factor) in enumerate(zip(kept, factors.tolist(), strict=True))
            ],
            "tree_info": [model["tree_info"][tree] for tree in kept],
            "iteration_indptr": [0, len(kept)],
            "gbtree_model_param": model["gbtree_model_param"] | counts,
        }
        booster = learner["gradient_booster"] | {"model": model}
        sliced_json = self._model_json | {"learner": learner | {"gradient_booster": booster}}
        sliced = copy.copy(self.model)
        content = bytearray(json.dumps(sliced_json).encode())
        sliced._Booster = Booster({"nthread": sliced.n_jobs or 0}, model_file=content)
        is_forest_class = "XGBRF" in type(sliced).__name__
        setattr(sliced, "n_estimators" if is_forest_class else "num_parallel_tree", len(members))
        return sliced


def _scale_xgboost_tree(tree: JsonObject, index: int, factor: float) -> JsonObject:
    """Return a tree of an XGBoost model with a new index and leaves multiplied by a factor."""
    is_leaf = np.asarray(tree["left_children"]) < 0
    scaled = {
        name: np.where(is_leaf, factor * np.asarray(tree[name]), tree[name]).tolist()
        for name in ("split_conditions", "base_weights")
    }
    return tree | scaled | {"id": index}


class LightGBMForest(_MarginForest):
    """LGBMClassifier and LGBMRegressor with ``boosting_type="rf"``."""

    def _read_trees(self, model: BaseEstimator) -> _Trees:
        n_rounds = model.best_iteration_ or model.booster_.current_iteration()
        text = model.booster_.model_to_string(num_iteration=n_rounds)
        head, begin, rest = text.partition("Tree=0\n")
        body, end, tail = rest.partition("end of trees")
        self._model_header, self._model_footer = head, end + tail
        self._tree_blocks = re.split(r"^Tree=\d+\n", begin + body, flags=re.MULTILINE)[1:]
        lines = [
            re.search(r"^leaf_value=(.*)$", block, re.MULTILINE) for block in self._tree_blocks
        ]
        leaf_values = [np.array(line[1].split(), dtype=float) for line in lines if line]
        tree_indices = np.arange(len(leaf_values)).reshape(n_rounds, -1)
        return leaf_values, tree_indices, np.zeros(tree_indices.shape[1])

    def _leaf_indices(self, X: Samples) -> Array:
        return self.model.predict(X, pred_leaf=True)

    def _slice_model(self, members: Sequence[int]) -> BaseEstimator:
        from lightgbm import Booster

        kept = self.tree_indices[list(members)].ravel().tolist()
        factors = np.repeat(self._leaf_factors(members), self.tree_indices.shape[1]).tolist()
        scaled = [
            _scale_lightgbm_tree(self._tree_blocks[tree], factor)
            for tree, factor in zip(kept, factors, strict=True)
        ]
        blocks = [f"Tree={index}\n{block}" for index, block in enumerate(scaled)]
        # LightGBM finds the trees by their sizes in bytes, which the header lists.
        sizes = " ".join(str(len(block.encode())) for block in blocks)
        head = re.sub(r"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}", self._model_header)
        sliced = copy.copy(self.model)
        sliced._Booster = Booster(model_str=head + "".join(blocks) + self._model_footer)
        sliced.n_estimators = len(members)
        sliced._best_iteration, sliced._best_score, sliced._evals_result = 0, {}, {}
        return sliced


def _scale_lightgbm_tree(block: str, factor: float) -> str:
    """Return a tree of a LightGBM model text with its leaves multiplied by a factor."""
    if factor == 1:
        return block
    head, name, rest = block.partition("\nleaf_value=")
    values, end, tail = rest.partition("\n")
    scaled = " ".join(repr(factor * float(value)) for value in values.split())
    return head + name + scaled + end + tail

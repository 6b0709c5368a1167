"""Forests of XGBoost and LightGBM: any of their trees can be kept, by rewriting the model.

They average margins, the sums of leaves that boosting knows, and make probabilities of the mean.
What is collected of a classifier's member are shares of 1 in proportion to its margins: the mean of
shares stands for the mean of margins, and ``margin_scale`` makes probabilities of it.
"""

import copy
import json
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import is_regressor

from secateurs.ensembles._base_ensemble import Ensemble
from secateurs.exceptions import UnsupportedEnsembleError
from secateurs.typing import Array

Floats = NDArray[np.float64]


class _MarginForest(Ensemble):
    """A forest that averages margins; a member is a tree, or a tree for each class.

    Attributes
    ----------
    leaf_values : list of ndarray
        For each tree, what each leaf says of the margin.
    tree_indices : ndarray of shape (n_members, n_margins)
        The trees of each member, one for each margin.
    base_margins : ndarray of shape (n_margins,)
        What all margins start from.
    """

    is_soft = True

    def __init__(self, model: Any) -> None:
        classes = np.empty(0) if is_regressor(model) else np.asarray(model.classes_)
        self.leaf_values, self.tree_indices, self.base_margins = self._read_trees(model)
        super().__init__(model, range(len(self.tree_indices)), classes)
        if not self.is_regression:
            highest = np.abs(self.base_margins).max() + max(
                np.abs(leaf).max() for leaf in self.leaf_values
            )
            farthest = (
                highest / 2 if self.tree_indices.shape[1] == 1 else 2 * highest
            )  # from their mean
            self.margin_scale = len(classes) * float(farthest or 1.0)

    @abstractmethod
    def _read_trees(self, model: Any) -> tuple[list[Floats], NDArray[np.intp], Floats]:
        """Return the leaves, the trees and the base of a model."""

    @abstractmethod
    def _leaf_indices(self, X: Any) -> Any:
        """Return the leaf of each tree that each row ends in: (samples, trees)."""

    def _convert_input(self, X: Any) -> Array:
        reached = (
            np.asarray(self._leaf_indices(X)).reshape(-1, len(self.leaf_values)).astype(np.int32)
        )
        total = sum(self._member_margins(reached, member) for member in range(self.n_members))
        if self.is_regression:
            found, own = np.ravel(total / self.n_members), self.model.predict(X)
        else:
            found, own = softmax(total / self.n_members, axis=1), self.model.predict_proba(X)
        if found.shape != np.shape(own) or not np.allclose(found, own, rtol=1e-4, atol=1e-5):
            raise UnsupportedEnsembleError(
                f"{type(self.model).__name__} does not predict the mean of its trees, so that "
                "others of them would predict something else. Fit it with the default objective "
                "and one output."
            )
        return reached

    def _member_margins(self, reached: Array, member: int) -> Any:
        """Return what a member says of rows by their leaves: (samples, 1 or classes)."""
        trees = self.tree_indices[member]
        found = np.stack([self.leaf_values[tree][reached[:, tree]] for tree in trees], axis=1)
        found += self.base_margins
        if self.is_regression or found.shape[1] > 1:
            return found
        return np.concatenate([-found / 2, found / 2], axis=1)

    def _leaf_factors(self, members: Sequence[int]) -> Floats:
        """Return what the leaves of members are multiplied by, so that their mean is weighted."""
        weights = np.ones(len(members)) if self.weights is None else self.weights[list(members)]
        return weights * len(weights) / weights.sum()

    def predicted_values(self, X: Any, member: int) -> Floats:
        """Return the numbers that a member predicts for prepared X."""
        return np.ravel(self._member_margins(X, member))

    def predicted_codes(self, X: Any, member: int) -> Array:
        """Return a member's votes on prepared X, as places among the ensemble's classes."""
        return self._member_margins(X, member).argmax(axis=1)

    def predicted_probabilities(self, X: Any, member: int) -> Floats:
        """Return shares in proportion to a member's margins on prepared X: (samples, classes)."""
        assert self.margin_scale is not None
        margins = self._member_margins(X, member)
        margins -= margins.mean(axis=1, keepdims=True)
        return 1.0 / len(self.classes) + margins / self.margin_scale


class XGBoostForest(_MarginForest):
    """XGBRFClassifier and XGBRFRegressor: the only round of boosting, of many trees."""

    def _read_trees(self, model: Any) -> tuple[list[Floats], NDArray[np.intp], Floats]:
        from xgboost import DMatrix

        booster = model.get_booster()
        self._model_json = json.loads(booster.save_raw("json"))
        trees = self._booster_model(self._model_json)["trees"]
        groups = np.asarray(self._booster_model(self._model_json)["tree_info"])
        places = np.stack([np.flatnonzero(groups == group) for group in np.unique(groups)], axis=1)
        leaves = []
        for tree in trees:
            is_leaf = np.asarray(tree["left_children"]) < 0
            leaves.append(len(places) * np.where(is_leaf, tree["split_conditions"], 0.0))
        known = {"feature_names": booster.feature_names, "feature_types": booster.feature_types}
        asked = DMatrix(np.full((1, booster.num_features()), np.nan), **known)
        reached = booster.predict(asked, pred_leaf=True).reshape(-1).astype(int)
        added = np.array([leaves[tree][leaf] for tree, leaf in enumerate(reached)])
        margins = np.ravel(booster.predict(asked, output_margin=True)).astype(float)
        return leaves, places, margins - added[places].mean(axis=0)

    @staticmethod
    def _booster_model(text: Any) -> Any:
        return text["learner"]["gradient_booster"]["model"]

    def _leaf_indices(self, X: Any) -> Any:
        return self.model.apply(X)

    def _slice_model(self, members: Sequence[int]) -> Any:
        from xgboost import Booster

        kept = self.tree_indices[list(members)].T.ravel().tolist()
        learner, model = self._model_json["learner"], self._booster_model(self._model_json)
        each = self.n_members / len(members)  # each tree says its share of the mean
        shares = np.tile(each * self._leaf_factors(members), self.tree_indices.shape[1])
        counts = {"num_trees": str(len(kept)), "num_parallel_tree": str(len(members))}
        model = model | {
            "trees": [
                _scale_xgboost_tree(model["trees"][tree], place, share)
                for place, (tree, share) in enumerate(zip(kept, shares.tolist(), strict=True))
            ],
            "tree_info": [model["tree_info"][tree] for tree in kept],
            "iteration_indptr": [0, len(kept)],
            "gbtree_model_param": model["gbtree_model_param"] | counts,
        }
        booster = learner["gradient_booster"] | {"model": model}
        text = self._model_json | {"learner": learner | {"gradient_booster": booster}}
        sliced = copy.copy(self.model)
        content = bytearray(json.dumps(text).encode())
        sliced._Booster = Booster({"nthread": sliced.n_jobs or 0}, model_file=content)
        many = "n_estimators" if "XGBRF" in type(sliced).__name__ else "num_parallel_tree"
        setattr(sliced, many, len(members))
        return sliced


def _scale_xgboost_tree(tree: Any, place: int, share: float) -> Any:
    """Return a tree of XGBoost with its place in the model, and leaves that say more or less."""
    is_leaf = np.asarray(tree["left_children"]) < 0
    scaled = {
        name: np.where(is_leaf, share * np.asarray(tree[name]), tree[name]).tolist()
        for name in ("split_conditions", "base_weights")
    }
    return tree | scaled | {"id": place}


class LightGBMForest(_MarginForest):
    """LGBMClassifier and LGBMRegressor with ``boosting_type="rf"``."""

    def _read_trees(self, model: Any) -> tuple[list[Floats], NDArray[np.intp], Floats]:
        n_rounds = model.best_iteration_ or model.booster_.current_iteration()
        text = model.booster_.model_to_string(num_iteration=n_rounds)
        head, begin, rest = text.partition("Tree=0\n")
        body, end, tail = rest.partition("end of trees")
        self._model_header, self._model_footer = head, end + tail
        self._tree_blocks = re.split(r"^Tree=\d+\n", begin + body, flags=re.MULTILINE)[1:]
        said = [re.search(r"^leaf_value=(.*)$", block, re.MULTILINE) for block in self._tree_blocks]
        leaves = [np.array(found[1].split(), dtype=float) for found in said if found]
        places = np.arange(len(leaves)).reshape(n_rounds, -1)
        return leaves, places, np.zeros(places.shape[1])

    def _leaf_indices(self, X: Any) -> Any:
        return self.model.predict(X, pred_leaf=True)

    def _slice_model(self, members: Sequence[int]) -> Any:
        from lightgbm import Booster

        kept = self.tree_indices[list(members)].ravel().tolist()
        factors = np.repeat(self._leaf_factors(members), self.tree_indices.shape[1]).tolist()
        scaled = [
            _scale_lightgbm_tree(self._tree_blocks[t], f)
            for t, f in zip(kept, factors, strict=True)
        ]
        blocks = [f"Tree={place}\n{block}" for place, block in enumerate(scaled)]
        sizes = " ".join(str(len(block.encode())) for block in blocks)
        head = re.sub(r"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}", self._model_header)
        sliced = copy.copy(self.model)
        sliced._Booster = Booster(model_str=head + "".join(blocks) + self._model_footer)
        sliced.n_estimators = len(members)
        sliced._best_iteration, sliced._best_score, sliced._evals_result = 0, {}, {}
        return sliced


def _scale_lightgbm_tree(block: str, factor: float) -> str:
    """Return a tree of LightGBM whose leaves say more or less."""
    if factor == 1:
        return block
    head, name, rest = block.partition("\nleaf_value=")
    values, end, tail = rest.partition("\n")
    told = " ".join(repr(factor * float(value)) for value in values.split())
    return head + name + told + end + tail

"""Types that a skops file may hold without being named by who loads it, beyond skops' own list.

A type is here only if building it, and whatever scikit-learn later does with it, can neither run
code from the file nor read or take memory that the file does not hold. skops would take a trusted
name from any of its loaders; here each has those that skops writes it with.

Not here, and to be named: `functools.partial`, which calls anything; k-d and ball trees, splines
and the boosters of XGBoost, LightGBM and CatBoost, whose compiled code follows unchecked indices.
"""

from functools import cache
from importlib import import_module

_BY_LOADER = {
    # Their content is checked: by `find_fault`, and by `SchemaCheck` before they are built.
    "TreeNode": ("sklearn.tree._tree.Tree",),
    # The dtype of an array of the file, most often of no values.
    "DTypeNode": ("numpy.dtype",),
    # Types as such: what a column selector selects, what a defaultdict of LightGBM starts with.
    "TypeNode": ("builtins.object", "collections.OrderedDict"),
    "DictNode": ("sklearn.utils._bunch.Bunch", "collections.OrderedDict"),
    # Plain Python objects: attributes, and methods that compute from them with NumPy.
    "ObjectNode": (
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",  # of scikit-learn 1.6
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.metrics._scorer._MultimetricScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._metadata_requests.MetadataRequest",  # of a search of scikit-learn 1.6
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    ),
    # Scores of features, which take X and y, and are called by `fit` alone.
    "FunctionNode": (
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.feature_selection._mutual_info.mutual_info_regression",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.feature_selection._univariate_selection.r_regression",
    ),
}


@cache
def trusted_loaders() -> dict[str, frozenset[str]]:
    """Return the loaders by which each of the types may be built.

    Examples
    --------
    >>> from secateurs.persistence._trusted_types import trusted_loaders
    >>> sorted(trusted_loaders()["numpy.dtype"])
    ['DTypeNode']
    >>> "functools.partial" in trusted_loaders()
    False
    """
    by_loader = {loader: set(names) for loader, names in _BY_LOADER.items()}
    by_loader["ObjectNode"] |= _splitter_names()
    by_loader["FunctionNode"] |= _metric_names()
    every = set().union(*by_loader.values())
    return {
        name: frozenset(loader for loader, names in by_loader.items() if name in names)
        for name in every
    }


def _splitter_names() -> set[str]:
    """Return the ways to split rows, which a search keeps: attributes, used by `fit` alone."""
    kinds = vars(import_module("sklearn.model_selection")).values()
    return {
        _qualified_name(kind) for kind in kinds if isinstance(kind, type) and hasattr(kind, "split")
    }


def _metric_names() -> set[str]:
    """Return the functions behind scikit-learn's scores, which a search keeps in its scorer."""
    metrics = import_module("sklearn.metrics")
    scorers = [metrics.get_scorer(name) for name in metrics.get_scorer_names()]
    return {_qualified_name(scorer._score_func) for scorer in scorers}


def _qualified_name(thing: type) -> str:
    return f"{thing.__module__}.{thing.__name__}"

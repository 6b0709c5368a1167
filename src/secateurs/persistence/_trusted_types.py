"""Types that are trusted in a skops file, in addition to skops' own list.

A type is listed only if building it, and everything that scikit-learn does with it later, can
neither run code from the file nor read or allocate memory beyond the content of the file. skops
accepts a trusted type from any of its loaders; here a type is trusted only with the loaders that
skops writes it with.

Not listed, so that the user has to name them: `functools.partial`, which calls any function; k-d
and ball trees, splines and the boosters of XGBoost, LightGBM and CatBoost, whose compiled code
follows indices without a check.
"""

from functools import cache
from importlib import import_module

_BY_LOADER = {
    # `SchemaCheck` checks their content before they are built, and `find_fault` afterwards.
    "TreeNode": ("sklearn.tree._tree.Tree",),
    # The dtype of an array in the file, which usually has no values.
    "DTypeNode": ("numpy.dtype",),
    # Classes themselves: the dtype of a column selector, the default of a defaultdict of LightGBM.
    "TypeNode": ("builtins.object", "collections.OrderedDict"),
    "DictNode": ("sklearn.utils._bunch.Bunch", "collections.OrderedDict"),
    # Plain Python objects, whose methods compute from their attributes with NumPy.
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
    # Functions that score features from X and y; only `fit` calls them.
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
    """Return the loaders that may build each trusted type.

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
    all_names = set().union(*by_loader.values())
    return {
        name: frozenset(loader for loader, names in by_loader.items() if name in names)
        for name in all_names
    }


def _splitter_names() -> set[str]:
    """Return the cross-validation splitters, which a search stores and only `fit` uses."""
    kinds = vars(import_module("sklearn.model_selection")).values()
    return {
        _qualified_name(kind) for kind in kinds if isinstance(kind, type) and hasattr(kind, "split")
    }


def _metric_names() -> set[str]:
    """Return the functions of scikit-learn's metrics, which a search stores in its scorer."""
    metrics = import_module("sklearn.metrics")
    scorers = [metrics.get_scorer(name) for name in metrics.get_scorer_names()]
    return {_qualified_name(scorer._score_func) for scorer in scorers}


def _qualified_name(trusted: type) -> str:
    return f"{trusted.__module__}.{trusted.__name__}"

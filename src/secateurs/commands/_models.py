"""Models from files, as far as they are trusted."""

import warnings
from pathlib import Path
from typing import Any

from secateurs._text import one_line
from secateurs.commands._errors import Refusal
from secateurs.commands._input import require_file
from secateurs.commands._options import Trust


def load_model(path: Path, trust: Trust) -> Any:
    """Read a model file, with what the user vouches for and no more."""
    require_file(path)
    from sklearn.exceptions import InconsistentVersionWarning

    from secateurs.persistence._models import load

    with warnings.catch_warnings():
        action = "ignore" if trust.allow_version_mismatch else "error"
        warnings.simplefilter(action, InconsistentVersionWarning)  # type: ignore[arg-type]
        try:
            return load(
                path,
                trust="pickle" if trust.trust_pickle else None,
                sha256=trust.sha256,
                trust_types=trust.trust_types,
                max_bytes=int(trust.max_bytes),
            )
        except InconsistentVersionWarning as error:
            raise Refusal(
                "version",
                f"{path} was written with scikit-learn {error.original_sklearn_version}, here is "
                f"{error.current_sklearn_version}: it may predict differently. Install that "
                "version, or give --allow-version-mismatch.",
            ) from None


def check_usable(path: Path, model: Any) -> Any:
    """Find out what a model is, naming its file in any refusal; gives an `Ensemble`."""
    from secateurs.ensembles import as_ensemble
    from secateurs.exceptions import SecateursError

    try:
        known = as_ensemble(model)
        known.names  # noqa: B018  # some models are found to be none only here
    except SecateursError as error:
        raise type(error)(f"{path}: {error}") from error
    except Exception as error:
        raise Refusal(
            "model", f"{path} holds no fitted ensemble: {one_line(str(error))}"
        ) from error
    if known.n_members < 2:
        raise Refusal(
            "nothing_to_prune",
            f"{path} has {known.n_members} member: there is nothing to prune. Give an ensemble "
            "of more.",
        )
    return known

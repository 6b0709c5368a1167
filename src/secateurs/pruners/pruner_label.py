"""How a pruner is called in tables, figures and notes."""

import inspect
from typing import Any

from secateurs._methods import short_name
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.text_format import to_one_line

_UNLABELLED = ("keep", "random_state", "n_jobs")  # parameters that labels leave out


def pruner_label(pruner: BasePruner) -> str:
    """Return a short label: name, λ and non-default parameters.

    Examples
    --------
    >>> from secateurs import COMEP, EPFD, ReducedErrorPruner
    >>> from secateurs.pruners.pruner_label import pruner_label
    >>> pruner_label(COMEP(keep=3)), pruner_label(EPFD(ReducedErrorPruner(backfit=True), n_groups=2))
    ('comep λ=0.5', 'EPFD n_groups=2 pruner=re backfit=True')
    """
    if hasattr(pruner, "selector"):  # what it wraps says more
        shown: Any = type(pruner.selector).__repr__
        unnamed = shown is object.__repr__
        return type(pruner.selector).__name__ if unnamed else to_one_line(repr(pruner.selector))
    parameters = inspect.signature(type(pruner)).parameters
    words = [short_name(pruner) or type(pruner).__name__]
    for name, value in pruner.get_params(deep=False).items():
        if name == "diversity_weight":
            words.append(f"λ={value:g}" if is_number(value) else f"λ={value}")
        elif name not in _UNLABELLED and repr(value) != repr(parameters[name].default):
            text = pruner_label(value) if isinstance(value, BasePruner) else value
            words += f"{name}={text}".split()
    return " ".join(words)

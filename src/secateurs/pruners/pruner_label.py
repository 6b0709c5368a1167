"""Labels of pruners in tables, figures and notes."""

import inspect

from secateurs._methods import short_name
from secateurs.pruners.base import BasePruner
from secateurs.pruners.parameters import is_number
from secateurs.text_format import to_one_line

_UNLABELLED = ("keep", "random_state", "n_jobs")  # parameters that labels do not show


def pruner_label(pruner: BasePruner) -> str:
    """Return the short name, λ and non-default parameters, such as "re backfit=True"."""
    if hasattr(pruner, "selector"):  # the wrapped selector is more informative
        selector_class = type(pruner.selector)
        class_repr: object = selector_class.__repr__
        has_own_repr = class_repr is not object.__repr__
        return to_one_line(repr(pruner.selector)) if has_own_repr else selector_class.__name__
    parameters = inspect.signature(type(pruner)).parameters
    words = [short_name(pruner) or type(pruner).__name__]
    for name, value in pruner.get_params(deep=False).items():
        if name == "diversity_weight":
            words.append(f"λ={value:g}" if is_number(value) else f"λ={value}")
        elif name not in _UNLABELLED and repr(value) != repr(parameters[name].default):
            text = pruner_label(value) if isinstance(value, BasePruner) else value
            words += f"{name}={text}".split()
    return " ".join(words)

"""The sections of the page, each with its numbers, its table, its words and its drawing."""

from secateurs.report.sections import (
    _accuracy_size,
    _before_after,
    _confusion,
    _distances,
    _kappa_error,
    _leaderboard,
    _losses,
    _reproduce,
    _steps,
    _weights,
    _what_if,
)

SECTIONS = tuple(  # in the order of the page
    module.SECTION
    for module in (
        _before_after,
        _what_if,
        _accuracy_size,
        _leaderboard,
        _kappa_error,
        _distances,
        _steps,
        _weights,
        _confusion,
        _losses,
        _reproduce,
    )
)

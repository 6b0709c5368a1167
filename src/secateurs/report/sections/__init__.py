"""The sections of the page, each with its numbers, its table, its words and its drawing."""

from importlib import import_module

from secateurs.report.sections._section import Section

_STEMS = (  # in the order of the page
    *("before_after", "what_if", "accuracy_size", "leaderboard", "kappa_error", "distances"),
    *("steps", "weights", "confusion", "losses", "reproduce"),
)
SECTIONS: tuple[Section, ...] = tuple(
    import_module(f"{__name__}._{stem}").SECTION for stem in _STEMS
)

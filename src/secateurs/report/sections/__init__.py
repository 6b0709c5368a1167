"""The sections of the page, each with its numbers, its table, its words and its drawing."""

from importlib import import_module

from secateurs.report.sections._section import Section

_STEMS = (  # in the order of the page
    *("score_size", "before_after", "what_if", "leaderboard", "kappa_error", "error_correlation"),
    *("distances", "steps", "weights", "confusion", "losses", "residuals", "reproduce"),
)
SECTIONS: tuple[Section, ...] = tuple(
    import_module(f"{__name__}._{stem}").SECTION for stem in _STEMS
)


def sections_for(predicts: str) -> list[Section]:
    """Return the sections for members that predict "numbers", or else labels."""
    kind = "numbers" if predicts == "numbers" else "labels"
    return [section for section in SECTIONS if section.predicts in (None, kind)]

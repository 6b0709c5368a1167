"""The sections of the report page: each collects its data and renders tables, text and plots."""

from importlib import import_module

from secateurs.report.sections._section import ReportSection

_MODULES = (  # in the order of the page
    *("_score_size", "_before_after", "_what_if", "leaderboard", "frontier", "_kappa_error"),
    *("_error_correlation", "_distances", "_steps", "_diversity_sweep", "_confusion", "_losses"),
    *("_residuals", "_reproduce"),
)
SECTIONS: tuple[ReportSection, ...] = tuple(
    import_module(f"{__name__}.{name}").SECTION for name in _MODULES
)


def sections_for(predicts: str) -> list[ReportSection]:
    """Return the sections for regression ("numbers"), or else for classification."""
    kind = "numbers" if predicts == "numbers" else "labels"
    return [section for section in SECTIONS if section.predicts in (None, kind)]

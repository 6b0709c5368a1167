"""What if?: another method, size or weight, worked out in the page."""

from secateurs.report import _base64
from secateurs.report._schema import Maybe
from secateurs.report.sections._section import Plain, Section

_VOTES = {"n_rows": int, "n_all": int, "truth": [int], "votes": _base64.SHAPE}


def view(data: Plain) -> Plain:
    """Return whether votes are counted on a sample of the rows, and on which."""
    some = [facts for facts in (data["choosing"], data["testing"]) if facts is not None]
    return {
        "is_sampled": any(facts["n_rows"] != facts["n_all"] for facts in some),
        "sample": " and ".join(f"{facts['n_rows']:,} of {facts['n_all']:,}" for facts in some),
    }


SECTION = Section(
    "what-if",
    "What if?",
    {
        "costs": {"bytes": Maybe({"base": float, "each": [float]}), "ms": Maybe([[float]])},
        "choosing": _VOTES,
        "testing": Maybe(_VOTES),
    },
    view,
    is_drawn=True,
)

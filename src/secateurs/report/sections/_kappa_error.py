"""Agreement and error: κ against the mean error of pairs of members."""

from secateurs.report._schema import Maybe
from secateurs.report._templates import Table
from secateurs.report.sections._section import Plain, Section

_MOST_FRONT = 40  # pairs in the table


def view(data: Plain) -> Plain | None:
    """Return the table, if there are pairs."""
    return {"table": table(data)} if data["kappa_error"]["n_pairs"] else None


def table(data: Plain) -> Table:
    """Return the means, and the pairs that no other pair beats."""
    facts, names = data["kappa_error"], data["ensemble"]["names"]
    means = (("mean of all pairs", facts["mean"]), ("kept", facts["mean_kept"]))
    rows = [[label, *mean] for label, mean in means if mean is not None]
    pairs = list(zip(facts["front_pairs"], facts["front"], strict=True))[:_MOST_FRONT]
    for (first, second), (kappa, error) in pairs:
        rows.append([f"{names[first]} and {names[second]}", kappa, error])
    caption = "Means, and the pairs that no other pair beats in both agreement and error."
    return Table(["pair", "κ", "mean error"], rows, caption, numeric=(1, 2))


SECTION = Section(
    "kappa-error",
    "Agreement and error",
    {
        "kappa_error": {
            "n_pairs": int,
            "kept": [[float]],
            "others": [[float]],
            "front": [[float]],
            "front_pairs": [[int]],
            "mean": Maybe([float]),
            "mean_kept": Maybe([float]),
        }
    },
    view,
    is_drawn=True,
)

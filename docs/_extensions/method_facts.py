"""Directives for the pages of methods, which show the registry, papers, figures and benchmarks.

``{method-facts} comep`` is the table of the method's properties, ``{picture} comep`` the figure
drawn by the function of that name in ``methods/pictures.py``, with a caption, and ``{kept} comep``
the method's benchmark results from ``kept.md``.
"""

import re
import sys
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from secateurs._methods import METHODS
from secateurs.commands.cite import read_references

ACCENTS = {r"{\'i}": "í", r"{\'a}": "á", r"{\~n}": "ñ"}
SITUATIONS = {"forest", "bagged trees", "AdaBoost", "library"}
CAPTION = (
    "Change of accuracy against the full ensemble, in percentage points, for the number of members "
    "in the heading, and the average rank among all methods. Values are means over many data sets. "
    "[All results](/kept.md)."
)
NARROW = "\N{NO-BREAK SPACE}"
REFERENCE_METHODS = ("joint", "random")  # the best fixed method, and the baseline


def paper(key):
    """Return the formatted reference with the given key."""
    entry = read_references()[key]
    fields = dict(re.findall(r"(\w+) = \{(.*)\}", entry))
    for code, letter in ACCENTS.items():
        fields = {name: text.replace(code, letter) for name, text in fields.items()}
    names = [" ".join(reversed(one.split(", "))) for one in fields["author"].split(" and ")]
    authors = f"{', '.join(names[:-1])} and {names[-1]}"
    where = fields.get("journal") or fields["booktitle"]
    volume = f" {fields['volume']}" if "volume" in fields else ""
    return f"{authors}. “{fields['title']}”. *{where}*{volume}, {fields['year']}."


def facts(name):
    """Return the properties of a method in the registry as a Markdown table."""
    method = METHODS[name]
    lines = {
        "Class": f"{{py:obj}}`secateurs.{method.class_name}`",
        "Name": f"`{name}`",
        "Criterion": method.criterion,
        "Keeps": method.size_description,
        "Works with": ", ".join(method.traits.outputs),
        "Cost": method.cost,
        "Paper": paper(method.citation) if method.citation else "none (common practice)",
    }
    rows = [f"| {title.replace(' ', NARROW)} | {text} |" for title, text in lines.items()]
    return "\n".join([rows[0], "| --- | --- |", *rows[1:]])


def table(text, heading):
    """Parse a table of ``kept.md``; return its column names and its rows by method."""
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in part.splitlines()
        if line.startswith("|")
    ]
    return head[1:], {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def kept(name, text):
    """Return the benchmark results of a method and two reference methods as a Markdown table."""
    columns, points = table(text, "Points of accuracy")
    _, ranks = table(text, "Average ranks")
    situations = [column.rpartition(", ")[0] for column in columns]  # the smallest size comes first
    shown = [
        column
        for index, column in enumerate(columns)
        if column.partition(",")[0] in SITUATIONS and situations[index] not in situations[:index]
    ]
    head = [*shown, "average rank"]
    rows = [
        [f"**{one}**" if one == name else one]
        + [points[one][column] or "–" for column in shown]
        + [ranks[one]["all"] if one in ranks else "–"]
        for one in dict.fromkeys((name, *REFERENCE_METHODS))
        if one in points
    ]
    lines = [["method", *head], ["---"] * (len(head) + 1), *rows]
    markdown = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{markdown}\n\n{CAPTION}\n"


class Facts(SphinxDirective):
    """The table of a method's properties."""

    required_arguments = 1

    def run(self):
        """Return the table."""
        return self.parse_text_to_nodes(facts(self.arguments[0]))


class Picture(SphinxDirective):
    """The illustration of a method, drawn when the page is read, with a caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"alt": directives.unchanged_required}

    def run(self):
        """Return the figure."""
        import matplotlib as mpl

        mpl.use("Agg")
        import pictures
        from matplotlib import pyplot

        name, folder = self.arguments[0], Path(self.env.srcdir) / "methods"
        for module in ("drawing", "pictures"):
            self.env.note_dependency(str(folder / f"{module}.py"))
        path = folder / "drawn" / f"{name}.svg"
        path.parent.mkdir(exist_ok=True)
        with mpl.rc_context({"svg.hashsalt": name}):  # makes the file reproducible
            getattr(pictures, name)()
            pyplot.savefig(path, metadata={"Date": None})
        pyplot.close("all")
        image = nodes.image(uri=f"/methods/drawn/{path.name}", alt=self.options["alt"])
        return [nodes.figure("", image), *self.parse_content_to_nodes()]


class Kept(SphinxDirective):
    """The table of a method's benchmark results."""

    required_arguments = 1

    def run(self):
        """Return the table."""
        page = Path(self.env.srcdir) / "kept.md"
        self.env.note_dependency(str(page))
        return self.parse_text_to_nodes(kept(self.arguments[0], page.read_text("utf-8")))


def setup(app):
    """Register the directives."""
    sys.path.insert(0, str(Path(app.srcdir) / "methods"))
    app.add_directive("method-facts", Facts)
    app.add_directive("picture", Picture)
    app.add_directive("kept", Kept)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

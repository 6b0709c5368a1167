"""What pages of methods show from elsewhere: the registry, papers, pictures, and measured points.

``{method-facts} comep`` is a table of facts, ``{picture} comep`` what ``methods/pictures.py`` draws
under that name, with the text below it, and ``{kept} comep`` the lines of ``kept.md`` on it.
"""

import re
import sys
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from secateurs._methods import METHODS
from secateurs.commands.cite import references

ACCENTS = {r"{\'i}": "í", r"{\'a}": "á", r"{\~n}": "ñ"}
SITUATIONS = {"forest", "bagged trees", "AdaBoost", "library"}
CAPTION = (
    "Points of accuracy won or lost against all members, for the number kept that stands in the "
    "heading, and ranks among all methods: means over many data sets. [All numbers](/kept.md)."
)
NARROW = "\N{NO-BREAK SPACE}"
BESIDE = ("joint", "random")  # the best fixed method, and the floor


def paper(key):
    """Return a reference as text."""
    entry = references()[key]
    fields = dict(re.findall(r"(\w+) = \{(.*)\}", entry))
    for code, letter in ACCENTS.items():
        fields = {name: text.replace(code, letter) for name, text in fields.items()}
    names = [" ".join(reversed(one.split(", "))) for one in fields["author"].split(" and ")]
    authors = f"{', '.join(names[:-1])} and {names[-1]}"
    where = fields.get("journal") or fields["booktitle"]
    volume = f" {fields['volume']}" if "volume" in fields else ""
    return f"{authors}. “{fields['title']}”. *{where}*{volume}, {fields['year']}."


def facts(name):
    """Return the registry's entry of a method as a table in Markdown."""
    method = METHODS[name]
    lines = {
        "Class": f"{{py:obj}}`secateurs.{method.pruner}`",
        "Name": f"`{name}`",
        "Looks at": method.criterion,
        "Keeps": method.keeps,
        "Works with": ", ".join(method.facts.outputs),
        "Has to count": method.cost,
        "Paper": paper(method.citation) if method.citation else "none: what people do by hand",
    }
    rows = [f"| {title.replace(' ', NARROW)} | {text} |" for title, text in lines.items()]
    return "\n".join([rows[0], "| --- | --- |", *rows[1:]])


def table(text, heading):
    """Return a table of the page of measurements: its columns, and its lines by method."""
    part = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in part.splitlines()
        if line.startswith("|")
    ]
    return head[1:], {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def kept(name, text):
    """Return what was measured of a method, and of others beside it, as a table in Markdown."""
    columns, points = table(text, "Points of accuracy")
    _, ranks = table(text, "Average ranks")
    sizes = [column.rpartition(", ")[0] for column in columns]  # the smallest of each comes first
    shown = [
        column
        for place, column in enumerate(columns)
        if column.partition(",")[0] in SITUATIONS and sizes[place] not in sizes[:place]
    ]
    head = [*shown, "average rank"]
    rows = [
        [f"**{one}**" if one == name else one]
        + [points[one][column] or "–" for column in shown]
        + [ranks[one]["all"] if one in ranks else "–"]
        for one in dict.fromkeys((name, *BESIDE))
        if one in points
    ]
    lines = [["method", *head], ["---"] * (len(head) + 1), *rows]
    made = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{made}\n\n{CAPTION}\n"


class Facts(SphinxDirective):
    """What the registry knows of a method."""

    required_arguments = 1

    def run(self):
        """Return the table."""
        return self.parse_text_to_nodes(facts(self.arguments[0]))


class Picture(SphinxDirective):
    """What a method looks at, drawn when the page is read, and words on it."""

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
        with mpl.rc_context({"svg.hashsalt": name}):  # the same file every time
            getattr(pictures, name)()
            pyplot.savefig(path, metadata={"Date": None})
        pyplot.close("all")
        image = nodes.image(uri=f"/methods/drawn/{path.name}", alt=self.options["alt"])
        return [nodes.figure("", image), *self.parse_content_to_nodes()]


class Kept(SphinxDirective):
    """What was measured of a method."""

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

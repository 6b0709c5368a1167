"""``secateurs cite``: BibTeX entries of secateurs and of the methods' papers."""

import re
from importlib.resources import files

import click

from secateurs import __version__
from secateurs._methods import METHODS
from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import METHOD
from secateurs.commands.shared_options import common_options

_OWN_PAPER = "bian2020"  # of COMEP, DOMEP and EPFD


@click.command()
@click.argument("name", type=METHOD, required=False)
@common_options
def cite(out: Output, name: str | None) -> None:
    """Print the BibTeX entry to cite.

    Prints the paper of the method NAME; without NAME, secateurs itself and its main paper.
    """
    entries = read_references()
    if name is None:
        selected = [_software_entry(), entries[_OWN_PAPER]]
    else:
        key = METHODS[name].citation
        if key is None:
            raise Refusal(
                "no_paper", f"{name} does not come from a paper: there is nothing to cite."
            )
        selected = [entries[key]]
    text = "\n\n".join(selected)
    out.print_result({"name": name, "bibtex": text}, text)


def read_references() -> dict[str, str]:
    """Return the BibTeX entries of the methods' papers, by key."""
    text = (files("secateurs.commands") / "references.bib").read_text("utf-8")
    return {entry[1]: entry[0] for entry in re.finditer(r"@\w+\{(\w+),.*?^\}", text, re.M | re.S)}


def _software_entry() -> str:
    return (
        "@software{secateurs,\n"
        "  author = {{The secateurs developers}},\n"
        "  title = {secateurs: ensemble pruning},\n"
        f"  version = {{{__version__}}}\n"
        "}"
    )

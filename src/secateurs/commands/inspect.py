"""``secateurs inspect``: show what a model file contains, without running its code."""

import zipfile
from pathlib import Path
from typing import Any

import click

from secateurs.commands._table_files import require_file
from secateurs.commands.console_output import Output
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import common_options
from secateurs.text_format import format_columns, shorten_list


@click.command()
@click.argument("file", type=PATH)
@common_options
def inspect(out: Output, file: Path) -> None:
    """Show what a model file contains.

    Prints format, size, SHA-256, types and members. Nothing is loaded from the file, and no code
    in it runs. The description inside a .skops file may be forged; the SHA-256 is computed here.
    """
    require_file(file)
    from secateurs.persistence import inspect_file

    facts = inspect_file(file)
    if facts["format"] == "skops":
        facts["members"] = _count_members(file)
    out.print_result(
        {"file": str(file), **facts}, format_columns(("", ""), _content_lines(facts), left=2)
    )


def _count_members(file: Path) -> int | None:
    """Return the number of members according to a skops file's own description."""
    from secateurs.exceptions import reading_file
    from secateurs.persistence.skops_files import read_schema

    with reading_file(file), zipfile.ZipFile(file) as archive:
        node: object = read_schema(archive)
        for name in ("content", "content", "estimators_", "content"):
            node = node.get(name) if isinstance(node, dict) else None
        return len(node) if isinstance(node, list) else None


def _content_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return labels and texts of the lines to print."""
    lines = [
        ("format", facts["format"]),
        ("bytes", f"{facts['bytes']:,}"),
        ("SHA-256", facts["sha256"]),
    ]
    if facts["format"].endswith("pickle"):
        lines.append(("content", "not inspected: reading it would run code from the file"))
    if "blend" in facts:
        lines.append(("model", f"blend of {facts['blend']['kind']}"))
        lines.append(("members", shorten_list(facts["blend"]["names"], 12)))
    if "model" in facts:
        versions = facts["versions"]
        lines += [
            ("model", facts["model"]),
            ("members", "unknown" if facts["members"] is None else f"{facts['members']:,}"),
            ("scikit-learn", ", ".join(map(str, versions["scikit-learn"])) or "unknown"),
            ("skops", str(versions["skops"])),
            *(("type", name) for name in facts["types"]),
        ]
    if facts["sidecar"] is not None:
        lines.append(("side-car", _describe_sidecar(facts)))
    return lines


def _describe_sidecar(facts: dict[str, Any]) -> str:
    if not facts["sidecar_matches"]:
        return "describes another file"
    provenance = facts["sidecar"].get("provenance")
    method = provenance.get("method") if isinstance(provenance, dict) else None
    return f"describes this file; pruned by {method}" if method else "describes this file"

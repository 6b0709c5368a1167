"""Format values as text for messages, tables, pages and JSON."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

NOTHING = "–"  # shown for a missing value


def interrupt_hint(words: Sequence[str]) -> str:
    """Return what to do after an interrupted command, whose words these are."""
    if words and words[0] in ("benchmark", "reproduce"):
        return "Run the same command to resume."
    return "Run the same command to start over."


def format_signed(value: float | None, places: int = 4) -> str:
    """Return a number with its sign, a minus sign for "-", no sign for zero, a dash for None."""
    if value is None or math.isnan(value):
        return NOTHING
    text = f"{value:+,.{places}f}"
    return text[1:] if not text.strip("+-0.") else text.replace("-", "−")


def format_list(values: Iterable[object], last: str = ", ", nothing: str = "none") -> str:
    """Return values as a list in a sentence.

    Examples
    --------
    >>> from secateurs.text_format import format_list
    >>> format_list(["re", "oo", "kp"], last=" and "), format_list([])
    ('re, oo and kp', 'none')
    """
    words = [str(value) for value in values]
    return last.join([", ".join(words[:-1]), words[-1]] if words[1:] else words) or nothing


def shorten_list(values: Sequence[object], most: int = 12) -> str:
    """Return values as an enumeration, shortened to the first ones.

    Examples
    --------
    >>> from secateurs.text_format import shorten_list
    >>> shorten_list(["re", "oo", "kp"], 2)
    're, oo, … (3 in total)'
    """
    shown = ", ".join(str(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, … ({len(values)} in total)"


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> from secateurs.text_format import format_count
    >>> format_count(1, "member"), format_count(3000, "member"), format_count(2, "class")
    ('1 member', '3,000 members', '2 classes')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}{'e' * (noun[-1] == 's')}s"


def to_json_value(value: object) -> Any:
    """Return a value that JSON can represent; NaN and infinity become None, other objects text."""
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    if hasattr(value, "tolist"):  # scalars and arrays of NumPy
        return to_json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    return replace_surrogates(str(value))


def format_columns(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table with aligned columns: the first ones left, the others right."""
    table = [[to_one_line(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(aligned).rstrip()

    return "\n".join(line(row) for row in table if any(row))


def to_one_line(text: str) -> str:
    """Return text on one line, without characters that control a terminal."""
    return replace_unprintable(" ".join(text.split()))


def replace_surrogates(text: str) -> str:
    """Return text without lone surrogates, which file names may contain and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def replace_unprintable(text: str) -> str:
    """Return text without characters that could break lines or control a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()

"""Files that a command writes: named, checked before any work, written whole or not at all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from secateurs.commands._errors import Refusal
from secateurs.commands._output import to_json

MODELS = (".skops", ".joblib", ".pkl", ".pickle")


@dataclass(frozen=True)
class Targets:
    """Files to write.

    Attributes
    ----------
    output : Path or None
        The result itself.
    report : Path or None
        The page.
    run : Path or None
        All figures, for the page.
    force : bool
        Whether to write over files that exist.
    """

    output: Path | None = None
    report: Path | None = None
    run: Path | None = None
    force: bool = False

    def named_for(self, model: Path | None) -> "Targets":
        """Say where a small model goes if nobody did."""
        if self.output is not None or model is None:
            return self
        return replace(self, output=model.with_name(f"{model.stem}-pruned.skops"))

    @property
    def paths(self) -> list[Path]:
        """All files there will be; a model has a side-car."""
        named = [self.output, self.report, self.run]
        if self.output is not None and self.output.suffix.lower() in MODELS:
            named.insert(1, self.output.with_suffix(".json"))
        return [path for path in named if path is not None]

    def check(self, endings: tuple[str, ...]) -> None:
        """Refuse names that cannot be written; ``endings`` are those of the output."""
        from secateurs.persistence._files import refuse_existing

        for path, allowed in (
            (self.output, endings),
            (self.report, (".html",)),
            (self.run, (".json",)),
        ):
            if path is not None and path.suffix.lower() not in allowed:
                raise Refusal(
                    "ending", f"{path} ends in {path.suffix!r}. Give one of: {', '.join(allowed)}."
                )
        twice = [path for place, path in enumerate(self.paths) if path in self.paths[:place]]
        if twice:
            raise Refusal("same_file", f"{twice[0]} would be written twice. Give another name.")
        refuse_existing(self.paths, self.force)

    def pages(self, make: Callable[[], dict[str, Any]]) -> dict[Path, bytes]:
        """Give what goes into the page and the file of figures, if they are wanted."""
        if self.report is None and self.run is None:
            return {}
        from secateurs.report import render

        data = make()
        found = {}
        if self.report is not None:
            found[self.report] = render(data).encode()
        if self.run is not None:
            found[self.run] = (to_json(data) + "\n").encode()
        return found


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write files, each whole or not at all."""
    from secateurs.persistence._files import write_file

    for path, content in contents.items():
        write_file(path, content)

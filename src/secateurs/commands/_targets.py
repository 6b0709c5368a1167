"""Files that a command writes: checked before any work, written completely or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from secateurs.commands._errors import Refusal
from secateurs.commands._options import FORCE, PATH, Decorator, bundled, option
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
        The HTML report.
    run : Path or None
        All figures, from which ``report`` makes the HTML report.
    force : bool
        Whether to overwrite existing files.
    """

    output: Path | None = None
    report: Path | None = None
    run: Path | None = None
    force: bool = False

    def named_for(self, model: Path | None) -> "Targets":
        """Return the targets with a default path for the pruned model."""
        if self.output is not None or model is None:
            return self
        return replace(self, output=model.with_name(f"{model.stem}-pruned.skops"))

    @property
    def paths(self) -> list[Path]:
        """All files to write; a model has a side-car."""
        named = [self.output, self.report, self.run]
        if self.output is not None and self.output.suffix.lower() in MODELS:
            named.insert(1, self.output.with_suffix(".json"))
        return [path for path in named if path is not None]

    def check(self, suffixes: tuple[str, ...]) -> None:
        """Refuse paths that cannot be written; ``suffixes`` are those of the output."""
        from secateurs.persistence._files import refuse_existing

        for path, allowed in (
            (self.output, suffixes),
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

    def pages(self, result: Any, **settings: Any) -> dict[Path, bytes]:
        """Return the contents of the wanted pages about a result, from `report_data`."""
        if self.report is None and self.run is None:
            return {}
        from secateurs.report import render, report_data

        data = report_data(result, **settings)
        contents = {}
        if self.report is not None:
            contents[self.report] = render(data).encode()
        if self.run is not None:
            contents[self.run] = (to_json(data) + "\n").encode()
        return contents


def writing(output: str) -> Decorator:
    """Declare the files to write; ``output`` is the help of the first."""
    return bundled(
        "targets",
        Targets,
        option("-o", "--output", type=PATH, help=output),
        option("--report", type=PATH, metavar="FILE.html", help="Also write an HTML report."),
        option(
            "--run", type=PATH, metavar="FILE.json", help="Also write all figures, for `report`."
        ),
        FORCE,
    )


def write_all(contents: Mapping[Path, bytes], force: bool) -> None:
    """Write files: all of them, or none."""
    from secateurs.persistence._files import write_files

    write_files(contents, force=force)

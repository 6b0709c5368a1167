"""Files that a command writes: checked before any work, written completely or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from secateurs.commands.command_errors import Refusal
from secateurs.commands.console_output import to_json
from secateurs.commands.shared_options import FORCE, PATH, Decorator, bundle_options, option

MODELS = (".skops", ".joblib", ".pkl", ".pickle")


@dataclass(frozen=True)
class OutputFiles:
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

    def with_default_output(self, model: Path | None) -> "OutputFiles":
        """Return the targets with a default path for the pruned model."""
        if self.output is not None or model is None:
            return self
        return replace(self, output=model.with_name(f"{model.stem}-pruned.skops"))

    @property
    def output_paths(self) -> list[Path]:
        """All files to write; a model has a side-car."""
        named = [self.output, self.report, self.run]
        if self.output is not None and self.output.suffix.lower() in MODELS:
            named.insert(1, self.output.with_suffix(".json"))
        return [path for path in named if path is not None]

    def check_paths(self, suffixes: tuple[str, ...]) -> None:
        """Refuse paths that cannot be written; ``suffixes`` are those of the output."""
        from secateurs.persistence.atomic_files import check_writable

        for path, allowed in (
            (self.output, suffixes),
            (self.report, (".html",)),
            (self.run, (".json",)),
        ):
            if path is not None and path.suffix.lower() not in allowed:
                raise Refusal(
                    "ending", f"{path} ends in {path.suffix!r}. Give one of: {', '.join(allowed)}."
                )
        twice = [
            path
            for place, path in enumerate(self.output_paths)
            if path in self.output_paths[:place]
        ]
        if twice:
            raise Refusal("same_file", f"{twice[0]} would be written twice. Give another name.")
        check_writable(self.output_paths, self.force)

    def render_pages(self, result: Any, **settings: Any) -> dict[Path, bytes]:
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


def output_options(output: str) -> Decorator:
    """Declare the files to write; ``output`` is the help of the first."""
    return bundle_options(
        "targets",
        OutputFiles,
        option("-o", "--output", type=PATH, help=output),
        option("--report", type=PATH, metavar="FILE.html", help="Also write an HTML report."),
        option(
            "--run", type=PATH, metavar="FILE.json", help="Also write all figures, for `report`."
        ),
        FORCE,
    )


def write_all_files(contents: Mapping[Path, bytes], force: bool) -> None:
    """Write files: all of them, or none."""
    from secateurs.persistence.atomic_files import write_files

    write_files(contents, force=force)

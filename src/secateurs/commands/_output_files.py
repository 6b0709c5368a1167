"""Output files of a command: checked before any work, written completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateurs.commands.command_errors import Refusal
from secateurs.commands.parameter_types import PATH
from secateurs.commands.shared_options import FORCE, Decorator, bundle_options, option

if TYPE_CHECKING:
    from secateurs.comparison import Comparison
    from secateurs.pruning import Frontier, Pruning

MODELS = (".skops", ".joblib", ".pkl", ".pickle")


@dataclass(frozen=True)
class OutputFiles:
    """Paths of the files that a command writes."""

    output: Path | None = None  # the result itself
    report: Path | None = None  # the HTML report
    run: Path | None = None  # all figures, from which `secateurs report` renders the HTML report
    force: bool = False  # whether to overwrite existing files

    def with_default_output(self, model: Path | None) -> OutputFiles:
        """Return the same files with a default path for the pruned model."""
        if self.output is not None or model is None:
            return self
        return replace(self, output=model.with_name(f"{model.stem}-pruned.skops"))

    @property
    def output_paths(self) -> list[Path]:
        """All files to write, including the side-car of a model."""
        named = [self.output, self.report, self.run]
        if self.output is not None and self.output.suffix.lower() in MODELS:
            named.insert(1, self.output.with_name(f"{self.output.name}.json"))
        return [path for path in named if path is not None]

    def check_paths(self, suffixes: tuple[str, ...]) -> None:
        """Raise if a path cannot be written; ``suffixes`` are allowed for the output."""
        from secateurs.persistence.atomic_files import check_writable

        for path, allowed in (
            (self.output, suffixes),
            (self.report, (".html",)),
            (self.run, (".json",)),
        ):
            if path is not None and path.suffix.lower() not in allowed:
                raise Refusal(
                    "ending", f"{path} ends in {path.suffix!r}. Use one of: {', '.join(allowed)}."
                )
        repeated = [
            path
            for index, path in enumerate(self.output_paths)
            if path in self.output_paths[:index]
        ]
        if repeated:
            raise Refusal("same_file", f"{repeated[0]} would be written twice. Use another name.")
        check_writable(self.output_paths, self.force)

    def render_pages(
        self, result: Pruning | Comparison | Frontier, **settings: Any
    ) -> dict[Path, bytes]:
        """Return the contents of the report and run files; ``settings`` go to `report_data`."""
        if self.report is None and self.run is None:
            return {}
        from secateurs.report import render, report_data, run_content

        data = report_data(result, **settings)
        contents = {}
        if self.report is not None:
            contents[self.report] = render(data).encode()
        if self.run is not None:
            contents[self.run] = run_content(data)
        return contents


def output_options(output: str) -> Decorator:
    """Declare the options for output files; ``output`` is the help of ``--output``."""
    return bundle_options(
        "targets",
        OutputFiles,
        option("-o", "--output", type=PATH, help=output),
        option("--report", type=PATH, metavar="FILE.html", help="Also write an HTML report."),
        option(
            "--run",
            type=PATH,
            metavar="FILE.json",
            help="Also write all figures, as input of `report`.",
        ),
        FORCE,
    )


def write_all_files(contents: Mapping[Path, bytes], force: bool) -> None:
    """Write all files, or none of them if one cannot be written."""
    from secateurs.persistence.atomic_files import write_files

    write_files(contents, force=force)

"""What a section of the page is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from secateurs.report._templates import environment

Plain = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """A section of the page: its part of the data, and what its template shows of it.

    Parameters
    ----------
    name : str
        Its address in the page, and the name of its files: ``kappa-error`` has the template
        ``kappa_error.html`` and the drawing ``kappa_error.js``.
    title : str
        Its heading.
    shape : mapping of str to shape
        The fields of the data that are its own; see `secateurs.report._schema`.
    view : callable(data) -> dict or None
        Values for the template, from the data of the whole report; None to leave it out.
    is_drawn : bool, default=False
        Whether it has a drawing.
    """

    name: str
    title: str
    shape: Mapping[str, Any]
    view: Callable[[Plain], Plain | None]
    is_drawn: bool = False

    @property
    def stem(self) -> str:
        """The name of its files."""
        return self.name.replace("-", "_")

    def html(self, data: Plain) -> Markup:
        """Return the section without its heading; empty if there is nothing to show."""
        view = self.view(data)
        if view is None:
            return Markup()
        return Markup(environment().get_template(f"{self.stem}.html").render(view, data=data))

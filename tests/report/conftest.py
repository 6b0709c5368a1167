"""Open pages in a browser; they must not log or request anything."""

import pytest

from secateurs.report import render


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens pages; fails if a page writes to the console or requests anything."""
    troubles, contexts = [], []

    def open_one(data, *, fragment="", **options):
        path = tmp_path / "page.html"
        path.write_text(render(data), "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _note_outside(request, troubles))
        page.goto(path.as_uri() + fragment)
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", timeout=20_000)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert troubles == []


def _note_outside(request, troubles):
    if not request.url.startswith(("file:", "data:", "blob:")):
        troubles.append(f"request: {request.url}")

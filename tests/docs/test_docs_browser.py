"""The documentation in a real browser, opened from disk: quiet, by itself, and never too wide."""

import pytest

SHAPES = [(width, scheme) for width in (1280, 768, 375) for scheme in ("light", "dark")]


def some_pages(built):
    """Return one page of each kind."""
    methods = sorted((built / "methods").glob("*.html"))
    gallery = sorted((built / "gallery").rglob("plot_*.html")) or [built / "gallery" / "index.html"]
    names = ["index.html", "guide/index.html", "api/secateurs.prune.html", "api/index.html"]
    return [*(built / name for name in names), methods[0], gallery[0]]


@pytest.mark.parametrize(("width", "scheme"), SHAPES)
def test_pages_are_quiet_and_fit(browser, built, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    troubles = []
    page = context.new_page()
    page.on("console", lambda message: note_error(message, troubles))
    page.on("pageerror", lambda error: troubles.append(f"{page.url} error: {error}"))
    page.on("request", lambda request: note_outside(request, troubles))
    for path in some_pages(built):
        page.goto(path.as_uri())
        page.wait_for_load_state("load")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide <= 0, f"{path.name} is {too_wide} pixels too wide at {width}"
    context.close()
    assert troubles == []


def note_error(message, troubles):
    if message.type in ("error", "warning"):  # the theme logs what it does
        troubles.append(f"console: {message.text}")


def note_outside(request, troubles):
    if not request.url.startswith(("file:", "data:", "blob:")):
        troubles.append(f"request: {request.url}")


def test_search_finds_a_method_from_disk(browser, built):
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((built / "search.html").as_uri() + "?q=KappaPruner")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    found = page.eval_on_selector_all("#search-results li a", "all => all.map((a) => a.href)")
    context.close()
    assert any("secateurs.KappaPruner.html" in address for address in found)


def test_maths_is_drawn_without_a_script(browser, built):
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((built / "methods" / "comep.html").as_uri())
    box = page.locator("math[display=block]").first.bounding_box()
    context.close()
    assert box["width"] > 50
    assert box["height"] > 10

"""Every link of the documentation leads somewhere, and nothing is loaded from elsewhere."""

import os
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

LOADING = {"script", "img", "iframe", "source", "video", "audio", "embed", "object", "input"}
LOADED = {
    "stylesheet",
    "preload",
    "modulepreload",
    "preconnect",
    "dns-prefetch",
    "prefetch",
    "icon",
}


class Page(HTMLParser):
    """The anchors of a page, where its links lead, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        rel = set((found.get("rel") or "").split())
        for name in ("href", "src", "srcset", "data", "poster"):
            if found.get(name) is None:
                continue
            self.links += [found[name].split()[0]] if found[name] else [""]
            if tag in LOADING or (tag == "link" and rel & LOADED):
                self.loads.append(found[name])


@pytest.fixture(scope="module")
def pages(built):
    paths = [path for path in sorted(built.rglob("*.html")) if "_static" not in path.parts]
    return {path: Page(path.read_text("utf-8")) for path in paths}


def test_every_link_leads_somewhere(pages, built):
    anchors = {str(path): page.anchors for path, page in pages.items()}
    files = {str(path) for path in built.rglob("*") if path.is_file()}
    broken = []
    for path, page in pages.items():
        for link in set(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(path.parent / unquote(parts.path or path.name))
            if target not in files or unquote(parts.fragment) not in anchors.get(target, {""}):
                broken.append(f"{path.relative_to(built)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_another_host(pages):
    loads = {link for page in pages.values() for link in page.loads}
    assert loads
    assert not [link for link in loads if urlsplit(link).netloc]


def test_style_sheets_load_nothing_from_another_host(built):
    sheets = [*built.rglob("*.css")]
    assert sheets
    for sheet in sheets:
        text = sheet.read_text("utf-8").replace(" ", "")
        assert "url(http" not in text, sheet
        assert "url(//" not in text, sheet
        assert "@importurl" not in text.replace('"', "").replace("'", ""), sheet

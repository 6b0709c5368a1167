"""The code of the documentation runs, and shows what it prints."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    """All blocks of a page are one session, in a folder of its own."""
    text = path.read_text("utf-8")
    blocks = [match for match in BLOCK.finditer(text) if ">>> " in match[1]]
    if not blocks:
        pytest.skip("an excerpt")
    monkeypatch.chdir(tmp_path)
    parser, examples = doctest.DocTestParser(), []
    for block in blocks:
        for example in parser.get_examples(block[1]):
            example.lineno += text.count("\n", 0, block.start(1))
            examples.append(example)
    failures = []
    test = doctest.DocTest(examples, {}, path.name, str(path), 0, text)
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=failures.append)
    assert "".join(failures) == ""


def test_the_guide_shows_code_on_every_page():
    texts = ("index", "faq", "glossary", "deslib")  # DESlib is not installed for the tests
    guide = {*(DOCS / "guide").glob("*.md")} - {DOCS / "guide" / f"{name}.md" for name in texts}
    assert guide <= set(PAGES)
    assert len(guide) >= 12

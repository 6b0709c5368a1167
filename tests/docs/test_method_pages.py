"""The page of methods lists all of them, as the registry describes them."""

import html
import re

from secateurs._methods import METHODS


def test_the_page_of_methods_lists_them(built):
    page = (built / "methods" / "index.html").read_text("utf-8")
    rows = re.findall(r"<tr\b.*?</tr>", page, flags=re.DOTALL)
    texts = [html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in rows]
    for name, method in METHODS.items():
        assert any({name, method.pruner} <= set(text.split()) for text in texts), name

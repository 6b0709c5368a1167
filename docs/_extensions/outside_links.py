"""Rewrite links to files outside ``docs``, which work on GitHub, so that they work here as well.

A link to ``../SECURITY.md`` leads to the page that includes this file. Links to files without a
page lead to GitHub.
"""

import posixpath
import re
from pathlib import Path


def _rewrite(app, docname, source):
    folder = posixpath.dirname(docname)

    def inside(match):
        path, fragment = match[1], match[2] or ""
        target = posixpath.normpath(posixpath.join("docs", folder, path))
        if target.startswith("docs/"):
            return match[0]
        page = Path(target).stem.lower()
        if target == f"{page.upper()}.md" and (Path(app.srcdir) / f"{page}.md").exists():
            return f"]({posixpath.relpath(f'{page}.md', folder or '.')}{fragment})"
        return f"]({app.config.html_theme_options['github_url']}/blob/main/{target}{fragment})"

    if app.env.doc2path(docname).suffix == ".md":
        source[0] = re.sub(r"\]\((\.\./[^)#\s]*)(#[^)\s]*)?\)", inside, source[0])


def setup(app):
    """Rewrite the links of each page when it is read."""
    app.connect("source-read", _rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

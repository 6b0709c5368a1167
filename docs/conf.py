"""Sphinx configuration; ``make docs`` builds the documentation."""

import os
import sys
from pathlib import Path

import secateurs

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two examples run in parallel

SITE = "https://secateurs.github.io/secateurs/"
HOME = "https://github.com/secateurs/secateurs"
LOGO = "_static/logo.svg"

project = "secateurs"
author = "The secateurs developers"
copyright = author
version = release = secateurs.__version__

extensions = [
    "api_pages",
    "mathml",
    "method_facts",
    "myst_parser",
    "numpydoc",
    "outside_links",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_extensions"]
suppress_warnings = ["myst.header"]  # pages of the paper's tables start at level 2
highlight_language = "text"
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # types are documented in docstrings
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False  # class pages list the members
python_display_short_literal_types = True
maximum_signature_line_length = 88

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "subsection_order": [f"../examples/{name}" for name in ("models", "choices", "methods")],
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "plot_gallery": True,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("secateurs",),
    "parallel": 2,
}

html_favicon = LOGO
html_theme = "pydata_sphinx_theme"
html_title = "secateurs"
html_baseurl = SITE
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["secateurs.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "start": []}
html_context = {"default_mode": "auto"}  # follow the reader's system setting
html_theme_options = {
    "logo": {
        "text": "secateurs",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "github_url": HOME,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the URL of the source code of a name, or None if unknown."""
    from api_pages import source

    found = source(info["module"], info["fullname"]) if domain == "py" else None
    return None if found is None else f"{HOME}/blob/main/src/{found}"

"""The site that `make docs` builds (scripts/docs): README.md and docs/ as they are, with the navigation of docs/README.md.

Sphinx reads the repository's own pages; this file changes only what Markdown on a site needs:
links to files that are no pages, anchors written as <a id>, and the tables of contents.
"""
import os
import re
import shutil
from pathlib import Path

from pygments.lexers.javascript import JavascriptLexer
from sphinx.highlighting import lexers

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
SOURCES = os.environ.get("WEFT_DOCS_SOURCES", "")  # where the files of the repository are shown; without it, they are only named

project = "Weft"
version = release = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = [*PAGES, "docs/*.md", "docs/dialects/*.md"]
exclude_patterns = [p.name for p in ROOT.iterdir() if p.name not in (*PAGES, "docs")]  # build folders, too: nothing to walk through
highlight_language = "none"
lexers["jsx"] = JavascriptLexer()
# Examples that are shortened with ... are not JSON, and reference pages may skip a level of headings.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
myst_heading_anchors = 6

html_theme = "furo"
html_title = "Weft"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_permalinks_icon = "#"
html_static_path = [str(ROOT / "docs" / "site" / "static")]
html_css_files = ["site.css"]


def is_page(target):
    return target.suffix == ".md" and (target.parent == ROOT and target.name in PAGES or target.is_relative_to(ROOT / "docs"))


def written_anchors(page):
    return re.findall(r'^<a id="([^"]+)"></a>$', page.read_text(), re.M)


def mend_link(page, match):
    """A link to a page, an image or another host as it is; one to a file of the repository as its name, or to SOURCES."""
    text, link = match.groups()
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve()
    if path and is_page(target) and anchor in written_anchors(target):
        return f"[{text}](#{anchor})"  # such a name is that of the whole site
    if re.match(r"[a-z]+:", link) or not path or is_page(target) or target.suffix == ".png":
        return match[0]
    if not SOURCES:
        return text
    return f"[{text}]({SOURCES.rstrip('/')}/{target.relative_to(ROOT)}{'#' + anchor if anchor else ''})"


def contents():
    """Tables of contents, one for each part of docs/README.md, with its titles."""
    made = []
    for part in re.split(r"^## ", (ROOT / "docs" / "README.md").read_text(), flags=re.M)[1:]:
        pages = [(text[0].upper() + text[1:], link) for text, link in re.findall(r"\[([^]]+)\]\(([\w./-]+)\.md\)", part)]
        lines = "\n".join(f"{text.replace('`', '')} <docs/{link}>" for text, link in pages)
        made.append(f"```{{toctree}}\n:hidden:\n:caption: {part.partition(':')[0]}\n\n{lines}\n```\n")
    more = "\n".join(f"{title} <{page}>" for title, page in
                     (("All pages", "docs/README"), ("Contribute", "CONTRIBUTING"), ("Security", "SECURITY"), ("Changes", "CHANGELOG")))
    return "\n".join([*made, f"```{{toctree}}\n:hidden:\n:caption: The project\n\n{more}\n```\n"])


def mend(app, name, source):
    page, lines, fence = ROOT / f"{name}.md", [], False
    for line in source[0].splitlines():
        fence ^= line.startswith("```")
        if not fence:
            line = re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", line)
            line = re.sub(r"(?<!!)\[([^]]*)\]\(([^)\s]+)\)", lambda match: mend_link(page, match), line)
        lines.append(line)
    source[0] = "\n".join(lines) + "\n"
    if name == root_doc:
        source[0] += "\n" + contents()


def add_index(app, failed):
    if not failed:
        shutil.copy(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app):
    app.connect("source-read", mend)
    app.connect("build-finished", add_index)

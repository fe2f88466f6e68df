#!/usr/bin/env python3
"""The built site: every link inside it leads to a file and an anchor that are there, nothing is loaded from another host, and
each page of docs/README.md is in the navigation of each page.

usage: links.py SOURCE-ROOT HTML-FOLDER   Prints "ok or bad, TAB, title, TAB, what was wrong".
"""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT, SITE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("form", "action")}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.links, self.loads = path, set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.ids.add(value)
            elif (tag, name) in LOADS:
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


PAGES = {path: Page(path) for path in sorted(SITE.rglob("*.html"))}


def dangling(page, link):
    """What a link of a page lacks; None: nothing, or it leads to another host."""
    url = urlsplit(link)
    if url.scheme or url.netloc:
        return None if re.fullmatch("https?|mailto", url.scheme) else "a strange scheme"
    target = (page.path.parent / unquote(url.path)).resolve() if url.path else page.path
    if not target.is_file() or not target.is_relative_to(SITE):
        return "no such file"
    if url.fragment and target in PAGES and unquote(url.fragment) not in PAGES[target].ids:
        return "no such anchor"
    return None


def links():
    return [f"{page.path.relative_to(SITE)}: {link}: {why}" for page in PAGES.values() for link in page.links + page.loads
            if (why := dangling(page, link))]


def hosts():
    bad = [f"{page.path.relative_to(SITE)} loads {load}" for page in PAGES.values() for load in page.loads if urlsplit(load).netloc]
    for path in SITE.rglob("*.css"):
        bad += [f"{path.relative_to(SITE)} loads {url}" for url in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", path.read_text())]
    return bad


def navigation():
    wanted = re.findall(r"\]\(([\w./-]+)\.md\)", (ROOT / "docs" / "README.md").read_text())
    bad = []
    for page in PAGES.values():
        if not page.links:
            continue
        there = {(page.path.parent / urlsplit(link).path).resolve() for link in page.links if not urlsplit(link).netloc}
        there.add(page.path)  # its own entry is "#"
        bad += [f"{page.path.relative_to(SITE)} lacks {name}" for name in wanted if SITE / f"docs/{name}.html" not in there]
    return bad


def pages():
    wanted = [p.relative_to(ROOT).with_suffix(".html") for p in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    return [f"{name} is not there" for name in (Path("index.html"), *wanted) if not (SITE / name).is_file()]


CHECKS = {"every page of docs/ is there": pages, f"links of {len(PAGES)} pages lead to files and anchors": links,
          "nothing is loaded from another host": hosts, "every page leads to all others": navigation}
failed = 0
for title, check in CHECKS.items():
    wrong = check()
    failed |= bool(wrong)
    print(f"{'bad' if wrong else 'ok'}\t{title}\t{' | '.join(wrong[:20])}")
sys.exit(failed)

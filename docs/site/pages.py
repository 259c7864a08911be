# SPDX-License-Identifier: Apache-2.0

"""Pages of docs for the reference site, and the site's start page.

    site.py catalogue CATALOGUE FOLDER    copies a DocC catalogue, and adds QUICKSTART and the tutorials as articles
    site.py start SITE                    writes SITE/index.html, which leads to tutorials and libraries

DocC resolves no link to a file. A link to a page that is an article becomes a link to the article; any other link
becomes the page's path.
"""

import html
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+\.\w+|[^)#:]+/)(?:#[^)]*)?\)")


def articles():
    """{page: article's name}"""
    pages = {ROOT / "docs" / "QUICKSTART.md": "QuickStart"}
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        pages[page] = f"{page.stem.capitalize()}Tutorial"
    return pages


def article(page, pages):
    def linked(match):
        text, target = match.groups()
        path = (page.parent / target).resolve()
        if path in pages:
            return f"<doc:{pages[path]}>"
        if not path.exists():
            raise SystemExit(f"{page.relative_to(ROOT)}: a link leads nowhere: {target}")
        if path.name == "GLOSSARY.md" and text != path.name:
            return text
        path = f"`{path.relative_to(ROOT)}`"
        return path if text.endswith(".md") else f"{text} ({path})"

    return LINK.sub(linked, page.read_text(encoding="utf-8"))


def catalogue(source, folder):
    shutil.copytree(source, folder, dirs_exist_ok=True)
    pages = articles()
    for page, name in pages.items():
        (folder / f"{name}.md").write_text(article(page, pages), encoding="utf-8")


def plain(content):
    """DocC's inline content as text."""
    return "".join(part.get("text") or part.get("code") or plain(part.get("inlineContent", [])) or
                   part.get("identifier", "").rpartition("/")[2] for part in content)


def start(site):
    def title(page):
        return page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")

    data = site / "data" / "documentation"
    tutorials = "".join(
        f'<li><a href="/documentation/proofkit/{name.lower()}/">{html.escape(title(page))}</a></li>\n'
        for page, name in articles().items())
    libraries = ""
    for path in sorted(data.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        name, abstract = told["metadata"]["title"], plain(told.get("abstract", []))
        libraries += (f'<dt><a href="/documentation/{path.stem}/">{html.escape(name)}</a></dt>'
                      f"<dd>{html.escape(abstract)}</dd>\n")
    page = (ROOT / "docs" / "site" / "start.html").read_text(encoding="utf-8")
    (site / "index.html").write_text(page.replace("<!-- tutorials -->", tutorials).replace(
        "<!-- libraries -->", libraries), encoding="utf-8")


if __name__ == "__main__":
    {"catalogue": catalogue, "start": start}[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))

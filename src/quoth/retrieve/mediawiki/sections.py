"""An article's text as sections; and the text of an article's HTML, for wikis without TextExtracts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from quoth.types import Segment

_HEADING = re.compile(r"^(={2,6})[ \t]*(?P<title>[^\n]+?)[ \t]*\1[ \t]*$", re.MULTILINE)
_DROPPED = (
    "style,script,table,figure,sup.reference,.mw-editsection,.navbox,.infobox,.toc,#toc,.noprint,.metadata,"
    ".mw-references-wrap,ol.references,.thumb,.mw-empty-elt,.mw-cite-backlink,.error"
)
_LEAVES = frozenset({"p", "li", "dd", "dt", "pre", "caption"})
_LISTS = frozenset({"ul", "ol", "dl"})
_MAX_DEPTH = 60


@dataclass(frozen=True, slots=True)
class Section:
    """A section: where it begins (at its heading), where its own text begins and ends, and its place in the tree."""

    start: int
    body: int
    end: int
    path: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The headings above, outermost first."""
        return " > ".join(self.path)


def sections(text: str) -> tuple[Section, ...]:
    """Return the sections of *text*, whose headings are lines ``== Heading ==``; the lead comes first.

    They are in order and cover the text. Subsections are sections of their own.
    """
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    start = body = 0
    for match in _HEADING.finditer(text):
        if match.start() > start:
            found.append(Section(start, body, match.start(), tuple(name for _, name in path)))
        level = len(match[1])
        path = [(depth, name) for depth, name in path if depth < level] + [(level, match["title"])]
        start, body = match.start(), match.end()
    found.append(Section(start, body, len(text), tuple(name for _, name in path)))
    return tuple(s for s in found if s.end > s.start)


def segments(text: str) -> tuple[Segment, ...]:
    """Return the sections as segments, so that an answer's place can name its heading."""
    return tuple(Segment(s.start, s.end, original=s.start, label=s.label) for s in sections(text))


def lead(text: str) -> str:
    """Return what stands before the first heading."""
    match = _HEADING.search(text)
    return (text[: match.start()] if match else text).strip()


def text_of(html: str) -> str:
    """Return the text of a rendered article: paragraphs, list items and headings; no tables, no notes.

    In the form that TextExtracts gives: ``== Heading ==`` and blank lines between blocks.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for node in tree.css(_DROPPED):
        node.decompose()
    root = tree.css_first(".mw-parser-output") or tree.body
    blocks = [] if root is None else [b for b in _blocks(root, 0) if b]
    return "\n\n".join(blocks)


def _blocks(node: Any, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    loose: list[str] = []
    for child in node.iter(include_text=True):
        tag = child.tag
        if tag == "-text" or tag in _INLINE:
            loose.append(child.text(deep=True))
            continue
        yield _plain("".join(loose))
        loose = []
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            marks = "=" * max(2, int(tag[1]))
            title = _plain(child.text(deep=True))
            yield f"{marks} {title} {marks}" if title else ""
        elif tag in _LEAVES:
            yield from _leaf(child, depth)
        else:
            yield from _blocks(child, depth + 1)
    yield _plain("".join(loose))


_INLINE = frozenset(
    {
        "a",
        "b",
        "i",
        "em",
        "strong",
        "span",
        "sup",
        "sub",
        "small",
        "code",
        "abbr",
        "cite",
        "q",
        "br",
        "tt",
        "u",
        "s",
    }
)


def _leaf(node: Any, depth: int) -> Iterator[str]:
    """Yield the text of a paragraph or item, then what is nested in it."""
    nested = [child for child in node.iter() if child.tag in _LISTS]
    inside = [_inside(child, depth) for child in nested]
    for child in nested:
        child.decompose()
    yield _plain(node.text(deep=True))
    for blocks in inside:
        yield from blocks


def _inside(node: Any, depth: int) -> list[str]:
    return list(_blocks(node, depth + 1))


def _plain(text: str) -> str:
    return " ".join(text.split())

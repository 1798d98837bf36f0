"""HTML to text: what a browser shows, a block a paragraph, with the line that each block began at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING

from quoth.documents._dates import iso_date
from quoth.documents._decode import Decoded, decode
from quoth.documents._extract import Extracted, Job, Writer
from quoth.errors import DocumentError

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

DEEPEST = 1_000
MOST_ATTRIBUTES = 1_000


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DROPPED = _names("script style template noscript svg head iframe object embed canvas audio video")
_PARAGRAPHS = _names(
    "address article aside blockquote body center details dialog div dl fieldset figure footer form h1 h2 h3 h4"
    " h5 h6 header hr html legend main menu nav ol p pre section table ul"
)
_LINES = _names("br caption dd dt figcaption li option summary tbody tfoot thead tr")
_CELLS = _names("td th")
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_VOID = _names(  # elements that do not nest
    "area base br col embed hr img input link meta param source track wbr p li td th tr dt dd option"
)
_RAW = _names("script style title textarea template noscript svg iframe object canvas audio video xmp")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_TOKEN = re.compile(r"<(?:(/?)([a-zA-Z][^\s/>]{0,40})|(!--)|[!?])")
_ATTRIBUTE = re.compile(r"([a-zA-Z:-]{1,40})=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s{0,4}=\s{0,4}[\"']?([a-zA-Z0-9_-]{2,40})", re.I)
_KEY = re.compile(r"[^&<>\s\u00a0\"']{3,24}")
_DATES = ("article:published_time", "dc.date", "dcterms.date", "date", "citation_date", "last-modified")


@dataclass(slots=True)
class Facts:
    """What a page says of itself."""

    title: str = ""
    heading: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the text of an HTML page."""
    decoded = decode_html(data, job.encoding)
    writer = Writer(job.limit)
    facts = read_html(decoded.text, writer)
    return [
        Extracted(
            writer.text(),
            title=facts.title or facts.heading,
            metadata=facts.metadata,
            segments=tuple(writer.segments),
            notes=decoded.notes,
        )
    ]


def decode_html(data: bytes, encoding: str | None = None) -> Decoded:
    """Decode as ``decode`` does, with the page's own word before a guess."""
    declared = _META_CHARSET.search(data[:4096])
    if encoding is not None or declared is None:
        return decode(data, encoding)
    name = declared[1].decode("ascii").lower()
    name = "cp1252" if name in ("iso-8859-1", "latin1", "us-ascii", "ascii") else name
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            return decode(data, name)
        except DocumentError:
            return decode(data)
    return decode(data, name) if name.startswith("iso-2022") else decode(data)


def read_html(source: str, writer: Writer, *, page: int | None = None, lines: bool = True) -> Facts:
    """Append the text of an HTML page to *writer*; return what the page says of itself.

    A linear look at the tags comes first: a page that is deeper than 1,000 elements, or has a tag of
    over 1,000 attributes, is read without a tree, in time proportional to its length; the fast
    parser's grows with the square, and the standard library's too on some tags.
    """
    facts = Facts()
    sink = _Sink(writer, facts, page)
    tree = _tree(source) if is_tame(source) else None
    if tree is not None:
        _fast(tree, _Lines(source) if lines else None, sink, facts)
    else:
        _slow(source, sink, facts)
    sink.flush()
    return facts


def is_tame(source: str) -> bool:
    """Say whether a page is shallow and its tags are short, in one pass."""
    depth, closing = 0, -1
    for tag in _TAG.finditer(source):
        if tag[1]:
            depth = max(0, depth - (tag[2].lower() not in _VOID))
            continue
        depth += tag[2].lower() not in _VOID
        if depth > DEEPEST:
            return False
        if tag.end() <= closing:
            continue
        closing = source.find(">", tag.end())
        closing = len(source) if closing < 0 else closing
        if (
            closing - tag.end() > MOST_ATTRIBUTES
            and _attributes(source, tag.end(), closing) > MOST_ATTRIBUTES
        ):
            return False
    return True


def _attributes(source: str, start: int, end: int) -> int:
    """Return about how many attributes stand between *start* and *end*, rather too many."""
    return max(source.count(c, start, end) for c in (" ", "\n", "\t", "="))


class _Sink:
    """Takes tags and text in order, and writes blocks."""

    def __init__(self, writer: Writer, facts: Facts, page: int | None) -> None:
        self._writer = writer
        self._facts = facts
        self._page = page
        self._pieces: list[str] = []
        self._line: int | None = None
        self._wanted = 0  # line breaks due before the next block
        self._written = False
        self._label = ""
        self._heading = False
        self._lists: list[int | None] = []  # the number of the next item; None without numbers
        self._mark = ""
        self._pre = 0

    def open(self, tag: str) -> None:
        if tag in _CELLS:
            if any(piece.strip() for piece in self._pieces):
                self._pieces.append("\0")
            return
        if tag in _PARAGRAPHS or tag in _LINES:
            nested = tag in ("ul", "ol") and bool(self._lists)
            self._break(1 if tag in _LINES or nested else 2)
        if tag in ("ul", "ol"):
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            self._item()
        elif tag in _HEADINGS:
            self._heading = True
        self._pre += tag == "pre"

    def close(self, tag: str) -> None:
        if tag in _PARAGRAPHS or tag in _LINES:
            nested = tag in ("ul", "ol") and len(self._lists) > 1
            self._break(1 if tag in _LINES or nested else 2)
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag == "li":
            self._mark = ""
        self._pre = max(0, self._pre - (tag == "pre"))
        self._heading = self._heading and tag not in _HEADINGS

    def words(self, text: str, line: int | None) -> None:
        if not self._pre:
            text = _SPACE.sub(" ", text)
            if text.startswith(" ") and (not self._pieces or self._pieces[-1].endswith((" ", "\0"))):
                text = text[1:]
        if self._line is None and text.strip():
            self._line = line
        if text:
            self._pieces.append(text.replace("\0", "\ufffd"))

    def flush(self) -> None:
        """Write the block at hand."""
        joined = "".join(self._pieces)
        block = joined.strip("\r\n") if self._pre else joined.strip(" \t\r\n\f\0")
        block = re.sub(r" *\0[ \0]*", "\t", block)
        if block and not block.isspace():
            if self._heading:
                self._label = block[:100]
                self._facts.heading = self._facts.heading or self._label
            if self._written:
                self._writer.gap("\n" * self._wanted)
            block, self._mark = self._mark + block, ""
            self._writer.add(block, page=self._page, line=self._line, label=self._label)
            self._written, self._wanted = True, 0
        self._pieces, self._line = [], None

    def _break(self, strength: int) -> None:
        self.flush()
        self._wanted = max(self._wanted, strength)

    def _item(self) -> None:
        number = self._lists[-1] if self._lists else None
        self._mark = "- " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1


class _Lines:
    """Finds the line that a text stands at, by looking for its first word from the last one on.

    It looks 64 KiB ahead, after every miss twice as far, up to 1 MiB: no page makes it look for long. A
    word that is not found leaves the line where it was.
    """

    _NEAR, _FAR = 1 << 16, 1 << 20

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = self._counted = 0
        self._ahead = self._NEAR
        self._line = 1

    def find(self, text: str) -> int:
        word = _KEY.search(text)
        if word is not None:
            at = self._source.find(word[0], self._at, self._at + self._ahead)
            self._ahead = min(2 * self._ahead, self._FAR) if at < 0 else self._NEAR
            self._at = max(at, self._at)
        self._line += self._source.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def skip(self, text: str | None) -> None:
        """Pass over the text of an element that is dropped."""
        self._at = min(len(self._source), self._at + len(text or ""))


def _tree(source: str) -> "LexborHTMLParser | None":
    """Return the page's tree, or None where the parser gives up (there is no memory left for it)."""
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    try:
        return LexborHTMLParser(source)
    except SelectolaxError:
        return None


def _fast(tree: "LexborHTMLParser", finder: _Lines | None, sink: _Sink, facts: Facts) -> None:
    _head(tree, facts)
    for node, opening in _steps(tree.root):
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            sink.words(text, finder.find(text) if finder and not text.isspace() else None)
        elif opening and tag in _DROPPED:
            if finder:
                finder.skip(node.text(deep=True))
        elif opening:
            sink.open(tag)
        elif tag not in _DROPPED:
            sink.close(tag)


def _steps(root: "LexborNode | None") -> "Iterator[tuple[LexborNode, bool]]":
    """Yield every element twice (at its start, at its end) and every text once, without recursion.

    What is inside an element that is dropped is not visited.
    """
    node, rising = root, False
    while node is not None:
        if not rising:
            if not node.is_comment_node:
                yield node, True
            below = None if node.tag in _DROPPED or node.tag == "-text" else node.child
            if below is not None:
                node = below
                continue
        if node.tag != "-text" and not node.is_comment_node:
            yield node, False
        after = node.next
        if after is not None:
            node, rising = after, False
        else:
            node, rising = node.parent, True
            if node is None or node.is_document_node:
                return


def _head(tree: "LexborHTMLParser", facts: Facts) -> None:
    title = tree.css_first("title")
    if title is not None:
        facts.title = _SPACE.sub(" ", title.text(deep=True)).strip()[:300]
    for meta in tree.css("meta")[:200]:
        _meta(meta.attributes, facts)


def _meta(attributes: Mapping[str, str | None], facts: Facts) -> None:
    name = (attributes.get("name") or attributes.get("property") or "").lower()
    content = (attributes.get("content") or "").strip()[:300]
    if name == "author" and content:
        facts.metadata.setdefault("author", content)
    elif name in _DATES and iso_date(content):
        facts.metadata.setdefault("date", iso_date(content))


def _slow(source: str, sink: _Sink, facts: Facts) -> None:
    """Read a page that nobody wrote by hand: one pass, no tree, whatever stands in it."""
    at, line, counted = 0, 1, 0
    while (token := _TOKEN.search(source, at)) is not None:
        line += source.count("\n", counted, at)
        counted = at
        if token.start() > at:
            sink.words(unescape(source[at : token.start()]), line)
        ending = "-->" if token[3] else ">"
        end = source.find(ending, token.end())
        if end < 0:  # a tag without an end is no text
            return
        at = end + len(ending)
        tag = (token[2] or "").lower()
        if token[1]:
            sink.close(tag)
        elif tag in _RAW:
            closing = re.compile(f"</{tag}", re.I).search(source, at)
            if closing is None:
                return
            if tag == "title" and not facts.title:
                facts.title = _SPACE.sub(" ", unescape(source[at : closing.start()])).strip()[:300]
            at = closing.start()
        elif tag == "meta":
            found = _ATTRIBUTE.findall(source, token.end(), min(end, token.end() + 2_000))
            _meta({name.lower(): unescape(a or b or c) for name, a, b, c in found}, facts)
        elif tag:
            sink.open(tag)
    if at < len(source):
        sink.words(unescape(source[at:]), line)

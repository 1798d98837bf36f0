"""``quoth ask`` and ``quoth search``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.cli.output import IndexOption, Json, Quiet, counted, emit, note, progress, say, table
from quoth.errors import InputError
from quoth.settings import number_of

if TYPE_CHECKING:
    from quoth.assemble import Library
    from quoth.types import Answer, Evidence, Passage, Phrase, Place, Term, Trace

Where = Annotated[
    str, typer.Option("--where", help='Conditions: "folder:contracts date>=2024 author:Smith".')
]
SHOWN = 3
HITS = 10
"""What `search` shows where nobody says how many; `ask` takes more, of which it reads some."""

NARROWED = "--where compares whole values; `quoth show ID` lists a document's."


def ask(
    question: Annotated[str | None, typer.Argument(help="The question, in words.")] = None,
    k: Annotated[int | None, typer.Option("-k", "--k", help="Passages taken from the retriever.")] = None,
    retriever: Annotated[
        str | None, typer.Option(help="auto, lexical, dense, hybrid, or one plugged in.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="fast, balanced or thorough.")] = None,
    budget_ms: Annotated[int | None, typer.Option(help="Read for so many milliseconds.")] = None,
    read: Annotated[str | None, typer.Option(help="joint, concatenate or each.")] = None,
    n_best: Annotated[int | None, typer.Option(help="Answers kept.")] = None,
    null_threshold: Annotated[
        str | None, typer.Option(help="No answer when the null odds exceed this.")
    ] = None,
    max_answer_tokens: Annotated[int | None, typer.Option(help="The longest answer.")] = None,
    where: Where = "",
    reader: Annotated[
        str | None, typer.Option(help="small, large, a folder, or a Hugging Face name.")
    ] = None,
    ranker: Annotated[str | None, typer.Option(help="Ranks the passages before they are read.")] = None,
    expand: Annotated[str | None, typer.Option(help="Expanders, separated by commas.")] = None,
    answer: Annotated[str | None, typer.Option(help="What is quoted: span, sentence, or auto.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each stage did and what it cost.")
    ] = False,
    batch: Annotated[
        Path | None, typer.Option(help="Questions: one a line, CSV, JSONL or SQuAD JSON.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the answers go: .jsonl, .csv or .xlsx.")] = None,
    index: IndexOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Answer a question by quoting the documents, or say that there is no answer.

    Examples:

        quoth ask "How much notice must the tenant give?"

        quoth ask "Who signed?" --where "folder:contracts date>=2024" --explain

        quoth ask --batch questions.txt --out answers.csv
    """
    from quoth import assemble
    from quoth.schema import trace_json

    options = {
        "k": k, "retriever": retriever, "profile": profile, "budget_ms": budget_ms, "read": read, "n_best": n_best,
        "null_threshold": null_threshold, "max_answer_tokens": max_answer_tokens, "reader": reader, "ranker": ranker,
        "expand": expand, "answer": answer,
    }  # fmt: skip
    if (batch is None) == (question is None):
        raise InputError("Give a question, or --batch with a file of questions.")
    with assemble.open_library(index, **{n: v for n, v in options.items() if v is not None}) as library:
        if batch is not None:
            _ask_all(library, batch, out, where=where, as_json=as_json, quiet=quiet)
            return
        trace = library.ask(question or "", where=where)
    for path in trace.stale:
        note(
            f"{path} has changed or gone since it was indexed; `quoth index` brings it up to date.",
            quiet=quiet,
        )
    if as_json:
        emit("ask/1", trace_json(trace, explain=explain))
        return
    _print_answer(trace, quiet=quiet)
    if explain:
        _print_trace(trace)


def _ask_all(
    library: "Library", batch: Path, out: Path | None, *, where: str, as_json: bool, quiet: bool
) -> None:
    from quoth.cli.batch import ask_all

    if out is None:
        raise InputError("--batch needs --out FILE, ending in .jsonl, .csv or .xlsx.")
    with progress("Asking", quiet=quiet) as advance:
        done = ask_all(lambda question: library.ask(question, where=where), batch, out, advance)
    if as_json:
        emit("ask-batch/1", {"out": str(out), **done})
    else:
        say(f"{done['asked']} asked now, {done['resumed']} already there, {done['refused']} refused: {out}")


def _print_answer(trace: "Trace", *, quiet: bool) -> None:
    if trace.answer is None:
        _print_none(trace)
    else:
        _print_quotation(trace.answer)
    from quoth.pipeline import NOTHING_FOUND

    for remark in trace.notes:
        if remark != NOTHING_FOUND:  # that is said already
            note(f"note: {remark}", quiet=quiet)


def _print_none(trace: "Trace") -> None:
    from quoth.pipeline import NOTHING_FOUND

    if not trace.candidates:
        narrowed = f" {NARROWED}" if trace.query.filters else ""
        say(f"No answer in these documents. {NOTHING_FOUND}{narrowed}")
        return
    say("No answer in these documents.")
    read = counted(trace.reading.read, "passage")
    say(f"  null odds {trace.null_odds:.2f}, threshold {trace.threshold:.2f}; {read} read")
    if trace.answers:
        nearest = trace.answers[0]
        say(f"  nearest: {_quoted(nearest)}  ({_place(nearest.evidence[0])})")


def _print_quotation(answer: "Answer") -> None:
    best = answer.evidence[0]
    say(_quoted(answer))
    say()
    if answer.kind == "span":
        say(f"  {_marked(best)}")
    say(f"  {_place(best)}  sha256 {best.document_sha256[:12]}")
    if answer.confidence is not None:
        say(f"  right with probability {answer.confidence:.2f} (calibrated)")
    for other in answer.evidence[1:SHOWN]:
        say(f"  also: {_place(other)}")


def _quoted(answer: "Answer") -> str:
    return answer.text.strip()


def _marked(evidence: "Evidence") -> str:
    """Return the sentence with the answer between guillemets."""
    sentence, span = evidence.sentence, evidence.span
    a, b = span.start - sentence.start, span.end - sentence.start
    marked = f"{sentence.text[:a]}»{sentence.text[a:b]}«{sentence.text[b:]}"
    return " ".join(marked.split())


def _place(evidence: "Evidence") -> str:
    return _named(evidence.source or evidence.title or evidence.span.document_id, evidence.place)


def _named(where: str, place: "Place") -> str:
    """Return the source and the place in it: a page with its printed label, else heading (or sheet) and line."""
    parts = [where]
    if place.page is not None and place.line is None:
        parts.append(f"page {place.page}" + (f" (labelled {place.label})" if place.label else ""))
    else:
        parts += [place.label] if place.label else []
        parts += [f"line {place.line}"] if place.line is not None else []
    return ", ".join(parts)


def _print_trace(trace: "Trace") -> None:
    say()
    rows: list[Sequence[Any]] = [
        (f"{s.score:.2f}", _short(s.item.text, 40), s.item.document_id, s.item.start)
        for s in trace.reading.spans[:10]
    ]
    say(f"spans (best of {len(trace.reading.spans)}; score = start + end logit, retriever's share added):")
    table(rows, ("score", "span", "document", "start"))
    say()
    say(f"passages ({trace.reading.read} of {len(trace.passages)} read):")
    table(
        [
            (f"{p.score:.2f}", _short(p.item.text, 60), p.item.title)
            for p in trace.passages[: max(5, trace.reading.read)]
        ],
        ("score", "passage", "title"),
    )
    say()
    cost = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in trace.timings_ms.items())
    say(f"{cost}; {counted(trace.reading.tokens, 'token')} in {counted(trace.reading.windows, 'window')}")
    say(
        f"null score {trace.reading.null_score:.2f}, null odds {trace.null_odds:.2f}, threshold {trace.threshold:.2f} "
        "(no answer above it)"
    )


def _short(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def search(
    question: Annotated[str, typer.Argument(help="Words or a question.")],
    k: Annotated[
        int | None, typer.Option("-k", "--k", help="How many hits (else 10, or the setting k).")
    ] = None,
    retriever: Annotated[
        str | None, typer.Option(help="auto, lexical, dense, hybrid, or one plugged in.")
    ] = None,
    expand: Annotated[str | None, typer.Option(help="Expanders, separated by commas.")] = None,
    where: Where = "",
    index: IndexOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find passages, without reading them: hits, what matched, and what expansion added.

    Exits with 1 where nothing is found. With vectors every passage matches to some degree, so that only a filter, or an
    empty index, leaves nothing: `--retriever lexical` finds what holds a word of the question.

    Example:

        quoth search "notice period" -k 5
    """
    from quoth import assemble
    from quoth.schema import scored_json

    options = {"k": k, "retriever": retriever, "expand": expand}
    with assemble.open_library(index, **{n: v for n, v in options.items() if v is not None}) as library:
        wanted = HITS if library.settings["k"].origin == "default" else number_of(library.settings, "k")
        query, hits = library.find(question, k=wanted, where=where)
        found_by = library.finds_by
        matched = [library.matched(query, hit.item) for hit in hits]
        places = _places(library, [hit.item for hit in hits])
    notes: Sequence[str] = getattr(hits, "notes", ())
    clauses: list[Phrase | Term] = []
    clauses += query.phrases
    clauses += query.terms
    if as_json:
        found = [
            {
                **scored_json(hit), "matched": list(words), "source": source, "page": place.page, "line": place.line,
            }
            for hit, words, (source, place) in zip(hits, matched, places, strict=True)
        ]  # fmt: skip
        added = [{"text": c.text, "weight": c.weight, "origin": c.origin} for c in clauses]
        emit(
            "search/1",
            {
                "question": question,
                "retriever": found_by,
                "hits": found,
                "expansion": added,
                "notes": list(notes),
            },
        )
    else:
        for clause in clauses:
            note(f"added: {clause.text} x{clause.weight:g} ({clause.origin})", quiet=quiet)
        for hit, words, (source, place) in zip(hits, matched, places, strict=True):
            named = _named(source or hit.item.title or hit.item.document_id, place)
            say(f"{hit.score:8.3f}  {named}  [{', '.join(words)}]")
            say(f"          {_short(hit.item.text, 100)}")
        for remark in notes:
            note(f"note: {remark}", quiet=quiet)
    if not hits:
        note(f"Nothing found. {NARROWED}" if where else "Nothing found.", quiet=quiet)
        raise typer.Exit(1)


def _places(library: "Library", passages: "Sequence[Passage]") -> "list[tuple[str, Place]]":
    """Return each passage's source and the place where it begins."""
    from quoth.text import locate

    documents = {id: library.document(id) for id in {p.document_id for p in passages}}
    return [(documents[p.document_id].source, locate(documents[p.document_id], p.start)) for p in passages]


COMMANDS = ((ask, "ask"), (search, "search"))

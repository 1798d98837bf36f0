"""One HTML page that holds a whole evaluation: no script, no request, light and dark, fit for print."""

import json
from collections.abc import Collection, Mapping, Sequence
from html import escape

from quoth.evaluate.evaluation import Evaluation, Table
from quoth.evaluate.figures import TUNED_HERE, Figure
from quoth.evaluate.manifest import Manifest
from quoth.evaluate.plots import DARK_CSS, LIGHT_CSS, SHAPE_CSS, Plot, svg
from quoth.evaluate.tables import shown

FOLDED = 15
"""A table of more rows than this is folded away."""

_NAMES = {
    "reader": "Reader",
    "retriever": "Retriever",
    "sentences": "Sentence selection",
    "triggering": "Answer triggering",
    "system": "Full system",
    "spans": "Predictions",
    "compare": "Comparison",
    "reproduce": "Reproduction",
}


def page(evaluation: Evaluation, manifest: Manifest) -> str:
    """Return the report as one self-contained HTML document."""
    kind = _NAMES.get(evaluation.kind, evaluation.kind)
    data = manifest.data
    split = f"split {data.split}" if data.split else ""
    asked = f"{data.questions:,} questions" if data.questions else ""
    facts = [data.name, split, asked, manifest.made[:10]]
    body = [
        f'<header><p class="kind">{escape(kind)}</p><h1>{escape(evaluation.title)}</h1>'
        f'<p class="facts">{" · ".join(escape(fact) for fact in facts if fact)}</p></header>',
        _notes((*evaluation.notes, data.note)),
        _cards(evaluation.figures),
        _plots(evaluation.plots, {table.name: table for table in evaluation.tables}),
        _tables(evaluation.tables, {plot.name for plot in evaluation.plots}),
        _conventions(evaluation),
        _manifest(manifest),
        "<footer>Made by quoth. Every figure carries its n, its interval and its convention; "
        "the files beside this page hold every number unrounded.</footer>",
    ]
    title = f"{escape(evaluation.title)} – {escape(kind)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{PAGE_CSS}</style></head>\n"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _notes(notes: Sequence[str]) -> str:
    kept = [f"<p>{escape(note)}</p>" for note in notes if note]
    return f'<aside class="notes">{"".join(kept)}</aside>' if kept else ""


def _cards(figures: Sequence[Figure]) -> str:
    if not figures:
        return ""
    wide = " wide" if any(figure.value < 0 or (figure.low or 0) < 0 for figure in figures) else ""
    return f'<section class="cards{wide}">{"".join(_card(figure) for figure in figures)}</section>'


def _card(figure: Figure) -> str:
    said = [f"n = {figure.n:,}"]
    bar = interval = ""
    if figure.low is not None and figure.high is not None:
        low, high = _value(figure, figure.low), _value(figure, figure.high)
        interval = f'<p class="interval">{low} {"to" if figure.low < 0 else "–"} {high}</p>'
        said.append(f"{figure.level:.0%} interval")
        bar = _range(figure.value, figure.low, figure.high, full=100.0 if figure.digits == 2 else 1.0)
    said += [part for part in (figure.convention, f"split {figure.split}" if figure.split else "") if part]
    if figure.tuned_on:
        said.append(figure.tuned_on if figure.tuned_on == TUNED_HERE else f"tuned on {figure.tuned_on}")
    name = escape(figure.name).replace("/", "/<wbr>")
    return (
        f'<article class="card"><h2>{name}</h2><p class="value">{_value(figure, figure.value)}</p>'
        f'{bar}{interval}<p class="said">{escape("; ".join(said))}</p></article>'
    )


def _value(figure: Figure, value: float) -> str:
    return f"{value:.{figure.digits}f}".replace("-", "\u2212")


def _range(value: float, low: float, high: float, *, full: float) -> str:
    """Draw the interval on the whole scale, 0..full; a difference around a tick at zero, to its own scale."""
    start = 0.0
    zero = ""
    if low < 0:
        full = 1.1 * max(abs(low), abs(high))
        start, zero = -full, '<s style="left:50%"></s>'
    a, v, b = (100 * min(max((x - start) / (full - start), 0.0), 1.0) for x in (low, value, high))
    return (
        f'<div class="range" role="presentation">{zero}<i style="left:{a:.1f}%;width:{max(b - a, 1):.1f}%"></i>'
        f'<b style="left:{v:.1f}%"></b></div>'
    )


def _plots(plots: Sequence[Plot], tables: Mapping[str, Table]) -> str:
    """Lay the plots out; a table of the same name folds out below its plot."""
    if not plots:
        return ""
    out = []
    for plot in plots:
        note = f"<p>{escape(plot.note)}</p>" if plot.note else ""
        numbers = (
            f"<details><summary>Numbers</summary>{_grid(tables[plot.name])}</details>"
            if plot.name in tables
            else ""
        )
        out.append(
            f"<figure><figcaption><h3>{escape(plot.title)}</h3>{note}</figcaption>"
            f"{svg(plot, standalone=False)}{numbers}</figure>"
        )
    return f'<section class="plots">{"".join(out)}</section>'


def _tables(tables: Sequence[Table], drawn: Collection[str]) -> str:
    out = []
    for table in tables:
        if table.name in drawn:
            continue
        grid = _grid(table)
        if len(table.rows) > FOLDED and not table.open:
            grid = f"<details><summary>{len(table.rows)} rows</summary>{grid}</details>"
        out.append(f'<section class="table"><h3>{escape(table.title)}</h3>{grid}</section>')
    return "".join(out)


def _grid(table: Table) -> str:
    text = [all(isinstance(row[i], str) for row in table.rows) for i in range(len(table.header))]
    head = "".join(
        f'<th scope="col"{"" if words else " class=num"}>{escape(name)}</th>'
        for name, words in zip(table.header, text, strict=True)
    )
    rows = []
    for row in table.rows:
        cells = "".join(
            f"<td{'' if words else ' class=num'}>{escape(shown(cell, table.digits))}</td>"
            for cell, words in zip(row, text, strict=True)
        )
        rows.append(f"<tr>{cells}</tr>")
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    whole = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="scroll"><table>{whole}</table></div>{note}'


def _conventions(evaluation: Evaluation) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>"
        for name, meaning in evaluation.conventions.items()
    )
    return f'<section class="conventions"><h3>Conventions</h3><dl>{rows}</dl></section>' if rows else ""


def _manifest(manifest: Manifest) -> str:
    text = json.dumps(manifest.as_dict(), ensure_ascii=False, indent=2)
    command = f"<pre><code>{escape(' '.join(manifest.command))}</code></pre>" if manifest.command else ""
    return (
        f'<section class="again"><h3>To make these figures again</h3>{command}'
        f"<details><summary>Manifest</summary><pre>{escape(text)}</pre></details></section>"
    )


PAGE_CSS = (
    ":root{--paper:#fbfaf8;--card:#fff;--ink:#1d2530;--soft:#5f6b78;--line:#e3e1dc;--accent:#2f6db5;--warm:#fdf4e3;"
    "--warm-line:#e8cf9a}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,"
    "'Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums}"
    "main{max-width:1120px;margin:0 auto;padding:56px 28px 72px}"
    "h1,.value{font-family:'Iowan Old Style','Palatino Linotype',Palatino,'Source Serif 4',Georgia,serif}"
    "h1{font-size:40px;line-height:1.15;font-weight:600;margin:0;letter-spacing:-.01em;text-wrap:balance}"
    "h2,h3{margin:0;font-weight:600}h3{font-size:17px;line-height:1.35}"
    ".kind{margin:0 0 8px;color:var(--accent);font-size:13px;font-weight:600;"
    "letter-spacing:.08em;text-transform:uppercase}"
    ".facts{margin:12px 0 0;color:var(--soft)}header{margin-bottom:32px}"
    ".notes{background:var(--warm);border:1px solid var(--warm-line);border-radius:10px;"
    "padding:12px 18px;margin:0 0 28px}"
    ".notes p{margin:4px 0}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(164px,1fr));gap:16px;margin:0 0 28px}"
    ".cards.wide{grid-template-columns:repeat(auto-fit,minmax(300px,1fr))}"
    ".card,figure,.table,.conventions,.again{background:var(--card);border:1px solid var(--line);border-radius:12px}"
    ".card{padding:16px 18px 14px;display:flex;flex-direction:column}"
    ".card h2{font-size:14px;color:var(--soft);overflow-wrap:anywhere}"
    ".value{font-size:34px;line-height:1.1;margin:6px 0 10px;font-variant-numeric:lining-nums tabular-nums}"
    ".range{position:relative;height:10px;margin-bottom:8px}.range::before{content:'';position:absolute;inset:4px 0;"
    "background:var(--line);border-radius:1px}.range i,.range b,.range s{position:absolute;top:50%;"
    "transform:translateY(-50%)}.range i{height:6px;border-radius:3px;background:var(--accent);opacity:.35}"
    ".range b{width:8px;height:8px;margin-left:-4px;border-radius:50%;background:var(--accent)}"
    ".range s{width:1.5px;height:10px;background:var(--soft)}"
    ".interval{margin:0;font-size:13.5px;white-space:nowrap}.interval span{color:var(--soft)}"
    ".said{margin:4px 0 0;font-size:13px;line-height:1.45;color:var(--soft);overflow-wrap:anywhere}"
    ".plots{columns:2 440px;column-gap:20px;margin-bottom:20px}"
    "figure{margin:0 0 20px;padding:20px 22px 18px;break-inside:avoid}figcaption{margin-bottom:14px}"
    "figcaption p{margin:2px 0 0;color:var(--soft);font-size:13.5px;line-height:1.45}"
    "figure svg{display:block;width:100%;height:auto;overflow:visible}"
    ".table,.conventions,.again{padding:20px 22px;margin:0 0 20px}.scroll{overflow-x:auto;margin-top:12px}"
    "table{border-collapse:collapse;width:100%;font-size:14px}"
    "th{color:var(--soft);font-weight:600;text-align:left;vertical-align:bottom;"
    "border-bottom:1.5px solid var(--line)}"
    "td,th{padding:7px 12px 7px 0;white-space:nowrap}td{border-bottom:1px solid var(--line)}"
    "td:last-child:not(.num){white-space:normal;min-width:18em}"
    ".num+td,.num+th:not(.num){padding-left:16px}"
    "tbody tr:last-child td{border-bottom:0}"
    "tbody tr:hover td{background:color-mix(in srgb,var(--accent) 6%,transparent)}"
    ".num{text-align:right;padding-left:8px;padding-right:4px}"
    ".note{margin:12px 0 0;color:var(--soft);font-size:13.5px}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:6px 24px;margin:12px 0 0;font-size:14.5px}"
    "dt{color:var(--soft)}dd{margin:0}"
    "pre{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-x:auto;margin:12px 0 0;"
    "padding:12px 14px;border:1px solid var(--line);border-radius:8px;background:var(--paper)}"
    "summary{cursor:pointer;margin-top:12px;color:var(--accent);font-size:14px}footer{color:var(--soft);font-size:13.5px;margin-top:28px}"
    "@media(max-width:560px){main{padding:32px 16px 48px}h1{font-size:30px}dl{grid-template-columns:1fr;gap:0}"
    "dd{margin-bottom:10px}figure,.table,.conventions,.again{padding:16px}}"
    f"{SHAPE_CSS}{LIGHT_CSS}"
    "@media(prefers-color-scheme:dark){:root{--paper:#0f1419;--card:#151b22;--ink:#e8edf2;--soft:#9aa7b4;--line:#2a333d;"
    f"--accent:#7fb2ee;--warm:#2a2416;--warm-line:#5c4a22}}{DARK_CSS}}}"
    "@media print{body{background:#fff;font-size:11pt}main{max-width:none;padding:0}.card,figure,.table,.conventions,"
    ".again{break-inside:avoid;border-color:#ccc}figure{margin:0}"
    ".plots{columns:auto;display:grid;grid-template-columns:1fr 1fr;gap:12px}"
    ".cards,.cards.wide{grid-template-columns:repeat(3,1fr)}.value{font-size:20pt}details{display:none}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}"
)

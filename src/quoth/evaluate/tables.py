"""Tables as CSV and LaTeX (booktabs)."""

import csv
import io

from quoth.evaluate.evaluation import Cell, Table

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def shown(cell: Cell, digits: int | None = None) -> str:
    """Return a cell as people read it: thousands apart, *digits* behind the point (None: four that tell something)."""
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    if digits is None:
        digits = 4 if abs(cell) < 1 else max(0, 4 - len(f"{abs(cell):.0f}"))
    return f"{cell:,.{digits}f}"


def csv_table(table: Table) -> str:
    """Return the table as CSV, numbers unrounded."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows([repr(c) if isinstance(c, float) else c for c in row] for row in table.rows)
    return text.getvalue()


def latex_table(table: Table) -> str:
    """Return the table as LaTeX with booktabs rules; columns of numbers stand to the right."""
    kinds = [
        "r" if table.rows and all(not isinstance(row[i], str) for row in table.rows) else "l"
        for i in range(len(table.header))
    ]
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{tex(table.title)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{''.join(kinds)}}}",
        r"\toprule",
        " & ".join(tex(name) for name in table.header) + r" \\",
        r"\midrule",
        *(" & ".join(tex(shown(c, table.digits)) for c in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\smallskip\footnotesize {tex(table.note)}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def tex(text: str) -> str:
    """Escape what LaTeX would take for markup."""
    return "".join(_TEX.get(c, c) for c in text)

"""Makes the Word, Excel and PDF files of ``samples/``: ``python tests/documents/make_samples.py [FOLDER]``."""

import io
import re
import sys
import textwrap
import zipfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from documents_fixtures import pdf

DAY = b"2025-03-28T00:00:00Z"
CONTRACT = (
    "# Rental contract",
    "between the Skerrow Point Trust, Harbour Road 3, Velmouth (the landlord), and Mr Jonas Abelard and "
    "Ms Wilhelmina Stroud (the tenant).",
    "# 1. What is let",
    "The landlord lets Keeper's Cottage, Lighthouse Lane 1, Velmouth, with three rooms, kitchen, "
    "bathroom and garden, 84 square metres in all. The oil tank and the boat shed are not let with it.",
    "# 2. Term and notice",
    "The contract begins on 1 May 2025 and has no fixed end. The tenant must give three months' notice, "
    "in writing, to the end of a calendar month. The landlord must give six months' notice, and only "
    "where the cottage is needed for a keeper of the light.",
    "# 3. Rent",
    "The rent is 940 euros a month, and is due on the third working day of the month. Heating and water are paid for "
    "separately, 110 euros a month in advance, and are settled by 31 August of the following year.",
    "# 4. Deposit",
    "The tenant pays a deposit of 1,880 euros before moving in. The landlord pays it back within eight "
    "weeks after the keys are handed over, less the cost of damage.",
    "# 5. Repairs",
    "The tenant pays for small repairs up to 120 euros each, and not more than 400 euros a year. Storm "
    "damage to roof and windows is reported on the same day.",
    "# 6. House rules",
    "- Between 22:00 and 6:00 no light may be shown in the windows on the sea side.",
    "- One dog may be kept; other animals need the landlord's consent.",
    "- The path to the lighthouse stays free for the keeper at all times.",
    "# 7. Keys",
    "The tenant is given three house keys and one key to the garden gate. A lost key costs 45 euros.",
    "Velmouth, 28 March 2025",
)
KEYS = (("Key", "Number"), ("House door", "3"), ("Garden gate", "1"), ("Letter box", "2"))
PRICES = (
    ("Article", "Number", "Price in euros", "Weight in kg", "In stock"),
    ("Petrel storm lantern", "L-100", 129.0, 1.4, 240),
    ("Gannet signal lamp", "L-210", 412.0, 6.8, 31),
    ("Dunlin reading lamp", "L-330", 89.5, 0.9, 118),
    ("Fulmar deck light", "L-415", 236.0, 3.2, 64),
    ("Curlew anchor light", "L-520", 174.5, 2.1, 0),
)
SHIPPING = (
    ("Destination", "Up to 5 kg", "Up to 20 kg", "Days"),
    ("Velmouth and Hollin Bay", 4.9, 9.9, 1),
    ("Mainland", 7.5, 14.5, 3),
    ("Islands", 12.0, 26.0, 6),
)
INCIDENT = (
    (
        "INCIDENT REPORT 2025-07",
        "Fire in the kiln room on 6 February 2025",
        "",
        "Written by Pieter Lindqvist, safety officer, on 10 February 2025.",
        "",
        "What happened",
        "At 16:42 on Thursday, 6 February 2025, Tobias Wren smelled smoke in the kiln room. He pressed the "
        "alarm, shut the gas valve and used two powder extinguishers. The fire brigade of Velmouth arrived "
        "at 16:55 and had the fire out at 17:10. Nobody was badly hurt; Maud Okafor was treated for a burn "
        "on her left hand.",
        "",
        "Cause",
        "The fire was caused by a worn cable behind kiln 2. It had rubbed against the edge of the steel "
        "shelf that was put up in November 2024. The yearly check of the electrical installation was due in "
        "January and had not been done.",
    ),
    (
        "Damage",
        "Kiln 2, one shelf and 63 glass cylinders were destroyed. The insurance, Saltmarsh Mutual, puts the "
        "damage at 27,300 euros; our own share is 1,500 euros. Production of the Gannet stood still for nine "
        "working days.",
        "",
        "Measures",
        "1. All cables in the kiln room run in steel conduit since 21 February 2025.",
        "2. The electrical check is done each January by Volt & Daughters; Ines Falkner answers for the date.",
        "3. A third extinguisher hangs beside the door of the kiln room.",
        "4. A fire drill is held twice a year, in April and October.",
    ),
)
MAINTENANCE = (
    (
        "LENS MAINTENANCE AT SKERROW POINT",
        "Tern & Tallow, issue 4, 1 September 2024",
        "",
        "Bearing",
        "The bearing of the lens has to be greased every 400 hours of operation, with lithium grease of "
        "grade 2. More than 60 grams at a time press the seal out. The hour counter is on the left of the "
        "control box.",
        "",
        "Mercury bath",
        "The bath holds 310 kilograms of mercury. Its level is read every Monday and must stand between the "
        "two brass pins. Work at the bath is done by two people, with the gallery door open and with gas "
        "masks of type Hg-P3.",
    ),
    (
        "Lamp",
        "The lamp is a metal halide lamp of 250 watts. It is changed after 6,000 hours, or when the flash is "
        "shorter than 0.3 seconds. The spare lamp moves into place by itself within five seconds when the "
        "first one fails, and the harbour master in Velmouth is sent a message.",
        "",
        "Cleaning",
        "The prisms are cleaned in April and October, with distilled water and a linen cloth. Spirit must "
        "not be used: it softens the putty of 1871.",
    ),
)


def main(folder: Path) -> None:
    """Write all of them into *folder*."""
    (folder / "rental-contract.docx").write_bytes(contract())
    (folder / "price-list.xlsx").write_bytes(price_list())
    (folder / "incident-report.pdf").write_bytes(
        report(INCIDENT, "Incident report 2025-07: fire in the kiln room")
    )
    (folder / "lens-maintenance.pdf").write_bytes(report(MAINTENANCE, "Lens maintenance at Skerrow Point"))


def contract() -> bytes:
    """Return the rental contract, without the template's pictures and dates."""
    import docx

    document = docx.Document()
    properties = document.core_properties
    properties.title, properties.author = "Rental contract for Keeper's Cottage", "Skerrow Point Trust"
    properties.created = properties.modified = datetime(2025, 3, 28)
    for text in CONTRACT:
        if text.startswith("# "):
            document.add_heading(text[2:], level=0 if text == CONTRACT[0] else 1)
        else:
            bullet = text.startswith("- ")
            document.add_paragraph(text.removeprefix("- "), style="List Bullet" if bullet else None)
    table = document.add_table(rows=0, cols=2)
    for row in KEYS:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    return without("docProps/thumbnail.jpeg", out.getvalue())


def without(name: str, data: bytes) -> bytes:
    """Return a zip archive with an empty member in place of *name*, and one date for all of it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            clean = zipfile.ZipInfo(member.filename, (2025, 3, 28, 0, 0, 0))
            clean.compress_type = zipfile.ZIP_DEFLATED
            content = b"" if member.filename == name else old.read(member)
            new.writestr(clean, re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z(?=</dcterms:modified>)", DAY, content))
    return out.getvalue()


def price_list() -> bytes:
    """Return the workbook of prices and shipping costs."""
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.title, book.properties.creator = "Price list 2025", "Tern & Tallow"
    book.properties.created = datetime(2025, 1, 2)
    prices = book.active
    for sheet, name, rows in ((prices, "Prices", PRICES), (book.create_sheet(), "Shipping", SHIPPING)):
        sheet.title = name
        for row in rows:
            sheet.append(row)
        for row in sheet.iter_rows(min_row=2):
            for cell in row:
                if isinstance(cell.value, float):
                    cell.number_format = "0.0" if name == "Prices" and cell.column_letter == "D" else "0.00"
    out = io.BytesIO()
    book.save(out)
    return without("", out.getvalue())


def report(pages: Sequence[Sequence[str]], title: str) -> bytes:
    """Return a PDF whose lines are wrapped as a printer would."""
    return pdf(
        ["\n".join("\n".join(textwrap.wrap(line, 88)) for line in page) for page in pages],
        title=title,
        author="Tern & Tallow",
        date="D:20250210120000Z" if "2025" in title else "D:20240901120000Z",
    )


if __name__ == "__main__":
    default = Path(__file__).resolve().parents[2] / "samples"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)

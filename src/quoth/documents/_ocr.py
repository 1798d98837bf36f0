"""A text layer for scans, by whichever OCR program is installed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from quoth.errors import DocumentError

SLOWER = 10
_MEMORY = 4 << 30  # of each process: OCR holds pictures
_DOTS_PER_INCH = 200


def program() -> str:
    """Return the OCR program that would be used: ``ocrmypdf``, ``tesseract``, or "" for none."""
    return next((name for name in ("ocrmypdf", "tesseract") if shutil.which(name)), "")


def add_text_layer(data: bytes, *, seconds: float) -> bytes:
    """Return the PDF in *data* with a text layer made by ``program()``.

    It gets ten times *seconds*: pictures take long. Raise ``DocumentError``: ``no_text_layer`` where the
    program fails, ``extractor_limit`` where it takes too long.
    """
    limit = SLOWER * seconds
    with tempfile.TemporaryDirectory(prefix="quoth-ocr-") as folder:
        source, target = Path(folder, "in.pdf"), Path(folder, "out.pdf")
        source.write_bytes(data)
        if program() == "ocrmypdf":
            options = ["--skip-text", "--quiet", "--output-type", "pdf", "--jobs", "2"]
            _run(["ocrmypdf", *options, str(source), str(target)], folder, limit)
        else:
            _pictures(Path(folder), limit)
            _run(["tesseract", "pages.txt", "out", "pdf"], folder, limit)
        if not target.is_file():
            raise DocumentError("The OCR program made no PDF.", code="no_text_layer")
        return target.read_bytes()


def _pictures(folder: Path, seconds: float) -> None:
    """Draw every page for tesseract, which reads pictures only, in a child of its own."""
    source = folder / "in.pdf"
    code = (
        "import sys, pypdfium2\n"
        "d = pypdfium2.PdfDocument(sys.argv[1])\n"
        "for i in range(len(d)):\n"
        f"    d[i].render(scale={_DOTS_PER_INCH} / 72).to_pil().save(f'{{sys.argv[2]}}/{{i:06d}}.png')\n"
    )
    command = [sys.executable, "-P", "-c", code, str(source), str(folder)]
    _run(command, str(folder), seconds)
    names = sorted(str(path) for path in folder.glob("*.png"))
    (folder / "pages.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


def _run(command: Sequence[str], folder: str, seconds: float) -> None:
    limits = [str(_MEMORY), str(int(seconds) + 1)]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "quoth.documents._limited", *limits, *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, messages = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as late:
        _end(process)
        raise DocumentError(
            f"OCR took more than {seconds:g} s, and was ended.", code="extractor_limit"
        ) from late
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        last = messages.decode("utf-8", "replace").strip().splitlines()[-1:] or [
            f"status {process.returncode}"
        ]
        raise DocumentError(f"The OCR program failed: {last[0][:300]}.", code="no_text_layer")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started: they are a process group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()

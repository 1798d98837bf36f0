"""The child processes: limits, deaths, sharing, and that one file's end is nobody else's."""

import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import documents_fixtures as make
import pytest

from quoth.documents import LoadOptions, _ocr, load
from quoth.documents._extract import Job
from quoth.documents._pool import Pool
from quoth.errors import DocumentError

MEMORY = 1 << 30


@pytest.fixture
def pool() -> Pool:
    """A pool of its own, so that its children are known."""
    return Pool()


def test_a_child_is_kept_between_files(pool: Pool) -> None:
    """A thousand small files are not a thousand interpreters."""
    data = make.pdf(["Hello."])
    began = time.monotonic()
    pool.extract("pdf", data, Job("a"), memory=MEMORY)
    first = time.monotonic() - began
    (child,) = pool._idle[MEMORY]
    for _ in range(20):
        pool.extract("pdf", data, Job("a"), memory=MEMORY)
    assert pool._idle[MEMORY] == [child]
    assert child.jobs == 21
    assert (time.monotonic() - began - first) / 20 < first
    pool.close()
    assert child.process.returncode is not None


def test_a_killed_child_is_replaced(pool: Pool) -> None:
    """A child that died while it was idle fails nothing."""
    data = make.pdf(["Hello."])
    pool.extract("pdf", data, Job("a"), memory=MEMORY)
    (child,) = pool._idle[MEMORY]
    child.process.kill()
    child.process.wait()
    assert pool.extract("pdf", data, Job("a"), memory=MEMORY)[0].text == "Hello."
    pool.close()


def test_a_child_that_dies_at_work_gets_a_successor(pool: Pool) -> None:
    """A kill in the middle of a file costs a second try, not the file."""
    page = "<p>some words</p>\n" * 60_000
    pool.extract("pdf", make.pdf(["x"]), Job("a"), memory=MEMORY)
    (child,) = pool._idle[MEMORY]
    killer = threading.Timer(0.3, child.process.kill)
    killer.start()
    found = pool.extract("html", page.encode(), Job("a"), memory=MEMORY)
    killer.join()
    child.process.wait()
    assert found[0].text.count("some words") == 60_000
    assert child.process.returncode is not None
    pool.close()


def test_time_is_limited(tmp_path: Path) -> None:
    """A file that takes too long is ended, soon after its time, and the next is read."""
    slow = make.write(tmp_path, "a.html", "<p>some words here</p>\n" * 1_000_000)
    began = time.monotonic()
    with pytest.raises(DocumentError, match="more than 2 s") as caught:
        load(slow, source="a.html", options=LoadOptions(seconds=2))
    assert caught.value.code == "extractor_limit"
    assert time.monotonic() - began < 100
    good = make.write(tmp_path, "b.html", "<p>good")
    assert load(good, source="b.html", options=LoadOptions(seconds=2))[0].text == "good"


def test_memory_is_limited(tmp_path: Path) -> None:
    """A file that needs more memory than it may have is named, and the next is read."""
    big = make.write(tmp_path, "a.eml", b"Subject: large\n\n" + b"some words here\n" * 4_000_000)
    options = LoadOptions(memory_bytes=192 << 20)
    with pytest.raises(DocumentError, match=r"memory|192 MB") as caught:
        load(big, source="a.eml", options=options)
    assert caught.value.code == "extractor_limit"
    assert load(make.write(tmp_path, "b.html", "<p>good"), source="b.html", options=options)[0].text == "good"


def test_many_threads_share_a_pool(tmp_path: Path) -> None:
    """Each caller gets the reply to its own file."""
    paths = [make.write(tmp_path, f"{n}.pdf", make.pdf([f"Page of file {n}."])) for n in range(24)]
    with ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(lambda p: load(p, source=p.name)[0].text, paths))
    assert texts == [f"Page of file {n}." for n in range(24)]


def test_a_child_runs_no_code_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that lie beside documents are documents, not modules."""
    mark = tmp_path / "ran"
    for name in ("json.py", "pypdfium2.py", "quoth.py", "sitecustomize.py"):
        make.write(tmp_path, name, f"open({str(mark)!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert Pool().extract("pdf", make.pdf(["Hello."]), Job("a"), memory=MEMORY)[0].text == "Hello."
    assert not mark.exists()


def test_a_child_ends_with_its_parent(tmp_path: Path) -> None:
    """Nothing is left running behind a parent that was killed."""
    path = make.write(tmp_path, "a.pdf", make.pdf(["Hello."]))
    code = (
        "import os, sys, time\nfrom pathlib import Path\nfrom quoth.documents import load, _loading\n"
        f"load(Path({str(path)!r}), source='a.pdf')\n"
        "print(_loading._POOL._idle[1 << 30][0].process.pid, flush=True)\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    if parent.stdout is None:
        pytest.fail("no pipe")
    with parent.stdout as output:
        child = int(output.readline())
    parent.kill()
    parent.wait()
    until = time.monotonic() + 10
    while running(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running(child)


def running(pid: int) -> bool:
    """Say whether a process runs (one that ended and waits to be collected does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_importing_documents_is_light() -> None:
    """No parser is loaded before a file asks for it."""
    heavy = "pypdfium2 pypdf docx pptx openpyxl selectolax lxml charset_normalizer pathspec numpy email"
    code = f"import sys, quoth.documents\nprint([m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def fake(folder: Path, name: str, script: str) -> None:
    """Put a program of that name into a folder."""
    path = make.write(folder, name, f"#!{sys.executable}\nimport shutil, sys, time\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that stands alone in the search path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_scan_is_read_by_the_ocr_program(tmp_path: Path, programs: Path) -> None:
    """Where ocrmypdf is installed, a PDF of pictures is read through it, with a note."""
    layer = make.write(tmp_path, "layer.pdf", make.pdf(["Read from a picture."]))
    fake(programs, "ocrmypdf", f"shutil.copy({str(layer)!r}, sys.argv[-1])")
    scan = make.write(tmp_path, "scan.pdf", make.pdf([""]))
    (document,) = load(scan, source="scan.pdf")
    assert document.text == "Read from a picture."
    assert "OCR, ocrmypdf" in document.notes[0]
    assert document.segments[0].page == 1
    with pytest.raises(DocumentError, match="no text layer"):
        load(scan, source="scan.pdf", options=LoadOptions(ocr=False))


def test_tesseract_is_given_pictures(tmp_path: Path, programs: Path) -> None:
    """Where only tesseract is installed, every page is drawn for it."""
    layer = make.write(tmp_path, "layer.pdf", make.pdf(["One.", "Two."]))
    check = "assert [open(x.strip(), 'rb').read(4) for x in open(sys.argv[1])] == [b'\\x89PNG'] * 2"
    fake(programs, "tesseract", f"{check}\nshutil.copy({str(layer)!r}, sys.argv[2] + '.pdf')")
    (document,) = load(make.write(tmp_path, "scan.pdf", make.pdf(["", ""])), source="scan.pdf")
    assert document.text == "One.\fTwo."


def test_an_ocr_program_that_fails_or_hangs_is_ended(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last words are the reason; one that takes too long is ended with all that it started."""
    scan = make.write(tmp_path, "scan.pdf", make.pdf([""]))
    fake(programs, "ocrmypdf", "print('first\\nno language', file=sys.stderr)\nsys.exit(3)")
    with pytest.raises(DocumentError, match="no language") as caught:
        load(scan, source="scan.pdf")
    assert caught.value.code == "no_text_layer"
    mark = tmp_path / "pid"
    monkeypatch.setattr(_ocr, "SLOWER", 1)
    fake(programs, "ocrmypdf", f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    with pytest.raises(DocumentError) as caught:
        load(scan, source="scan.pdf", options=LoadOptions(seconds=3))
    assert caught.value.code == "extractor_limit"
    assert not running(int(mark.read_text(encoding="ascii")))
    assert os.listdir(tmp_path / "bin") == ["ocrmypdf"]

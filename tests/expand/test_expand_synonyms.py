"""Which words of a question are expanded, and with what."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.retrieve.expand import (
    RuleRecogniser,
    Synonym,
    SynonymExpander,
    VectorSynonyms,
    Word,
    WordNet,
    WordNetSynonyms,
    WordVectors,
    candidates,
    load_vectors,
)
from quoth.retrieve.expand.wordnet import FOLDER, PARTS
from quoth.testing.parts import check_expander
from quoth.types import Query, Term

GLOVE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "glove" / "glove.6B.50d.subset.txt"


class Fixed:
    """A source that knows a few synonyms."""

    name = "fixed"

    def __init__(self, **known: str) -> None:
        self._known = known

    def synonyms(self, question: str, chosen: Sequence[Word]) -> Sequence[Sequence[Synonym]]:
        return [[Synonym(s, "said") for s in self._known.get(w.text, "").split(",")] for w in chosen]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what is Thomas Middleditch's popular tv show?", ["popular", "tv", "show"]),
        ("how many rose species are found in the Montreal Botanical Garden?", ["rose", "species", "found"]),
        ("Describe 3 b-vitamins and the vitamin's 2nd use in May", ["vitamins", "use"]),
        ("who was it?", []),
    ],
)
def test_only_open_words_outside_entities(question: str, expected: list[str]) -> None:
    """Entities, closed classes, digits, single letters and repeated stems are left alone."""
    found = candidates(question, RuleRecogniser())
    assert [word.text for word in found] == expected
    assert all(question[w.start : w.end].lower() == w.text for w in found)


def test_unfit_synonyms_are_left_out() -> None:
    """No shared stem with the question or another synonym, no stop word, no digit, no mark, no name; n at most."""
    source = Fixed(
        show="shows,showed,the,b2b,re-run,x,,Paris,programme,programmes,series,broadcast",
        popular="series,famous",
    )
    expander = SynonymExpander(
        source, RuleRecogniser(), is_name=lambda word: word == "paris", n=2, weight=0.4
    )
    query = Query("what popular show is it?", terms=(Term("tv", 1.0, "me"),))
    check_expander(expander, [query, Query("?"), Query("Is it Rome?")])
    assert expander.expand(query).terms == (
        Term("tv", 1.0, "me"),
        Term("series", 0.4, "fixed: popular (said)"),
        Term("famous", 0.4, "fixed: popular (said)"),
        Term("programme", 0.4, "fixed: show (said)"),
        Term("broadcast", 0.4, "fixed: show (said)"),
    )
    with pytest.raises(InputError):
        SynonymExpander(source, RuleRecogniser(), n=0)


def _write(path: Path, rows: Sequence[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_vectors_in_both_text_formats(tmp_path: Path) -> None:
    """GloVe's and word2vec's text files give the same neighbours; words may have spaces, blank lines are none."""
    rows = ["up 1 0", "rise 2 0.1", "down -1 0", "new york 0 1", "", "zero 0 0"]
    for name, lines in (("glove", rows), ("word2vec", ["5 2", *rows])):
        vectors = load_vectors(_write(tmp_path / name, lines))
        assert (len(vectors), vectors.dimension) == (5, 2)
        near = vectors.neighbours("up", n=2)
        assert [word for word, _ in near] == ["rise", "new york"]
        assert near[0][1] == pytest.approx(2 / np.hypot(2, 0.1), abs=1e-6)
        assert "new york" in vectors
        assert vectors.neighbours("unknown") == []
    assert len(vectors.neighbours("up", n=99)) == 4


@given(st.lists(st.tuples(*[st.floats(-9, 9, width=32)] * 3), min_size=2, max_size=12))
def test_neighbours_are_the_largest_cosines(rows: list[tuple[float, float, float]]) -> None:
    """Neighbours are those of a sort by cosine, never the word itself."""
    vectors = WordVectors([f"w{i}" for i in range(len(rows))], np.array(rows, np.float32))
    found = vectors.neighbours("w0", n=3)
    cosines = [cosine for _, cosine in found]
    assert cosines == sorted(cosines, reverse=True)
    assert "w0" not in dict(found)
    assert len(found) == min(3, len(rows) - 1)
    rest = [float(np.dot(vectors.unit[0], vectors.unit[i])) for i in range(1, len(rows))]
    assert cosines == pytest.approx(sorted(rest, reverse=True)[:3], abs=1e-5)


@pytest.mark.parametrize("rows", [["a 1 2", "b 1"], ["a 1 x"], ["a 1 nan"], ["a"], [""]])
def test_bad_vector_files_name_the_line(tmp_path: Path, rows: list[str]) -> None:
    """What is not a word and numbers is refused with the file's name."""
    with pytest.raises(InputError, match="vectors"):
        load_vectors(_write(tmp_path / "vectors", rows))
    with pytest.raises(InputError, match="cannot be read"):
        load_vectors(tmp_path / "missing")


def test_large_files_are_kept_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept file gives the same vectors, a bad or unwritable cache is passed over, a changed file is read again."""
    from quoth.retrieve.expand import vectors as module

    monkeypatch.setattr(module, "_WORTH_KEEPING", 10)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = _write(tmp_path / "v.txt", ["a 1 2", "b 2 1"])
    first = load_vectors(path)
    (kept,) = (tmp_path / "cache" / "quoth" / "vectors").iterdir()
    module._read.cache_clear()
    again = load_vectors(path)
    assert again.words == first.words
    assert np.allclose(again.unit, first.unit)
    kept.write_bytes(b"PK damaged")
    module._read.cache_clear()
    assert load_vectors(path).words == first.words
    _write(path, ["c 1 2", "d 2 1", "e 0 1"])
    os.utime(path, ns=(1, 1))
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    assert load_vectors(path).words == ("c", "d", "e")


@pytest.mark.skipif(not GLOVE.is_file(), reason="the shared GloVe subset is not here")
def test_glove_gives_the_blogs_synonyms() -> None:
    """The blog's example holds on real vectors: "popular" has "famous", each with its cosine in the origin."""
    expander = SynonymExpander(VectorSynonyms(load_vectors(GLOVE)), RuleRecogniser())
    terms = expander.expand(Query("what is Thomas Middleditch's popular tv show?")).terms
    assert Term("famous", terms[0].weight, "vectors: popular (cosine 0.78)") in terms
    assert len(terms) == 6


def test_wordnet_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A folder without the files is refused, and the hint names Debian's package."""
    with pytest.raises(InputError, match="wordnet-base"):
        WordNet(tmp_path)


def test_wordnet_files_are_read_as_their_manual_says(tmp_path: Path) -> None:
    """Senses come by frequency, base forms by exceptions and endings, lemmas without their markers."""
    data = {"noun": "", "verb": "", "adj": "", "adv": ""}
    data["noun"] = "  1 licence\n"
    flower = len(data["noun"])
    data["noun"] += f"{flower:08d} 20 n 02 rose 0 rose_bush 0 000 | a flower\n"
    data["verb"] = "  1 licence\n"
    rise = len(data["verb"])
    data["verb"] += f"{rise:08d} 38 v 02 rise 0 climb(p) 1 000 01 + 01 00 | go up\n"
    index = {
        "noun": f"  1 licence\nrose n 1 0 1 1 {flower:08d}  \n",
        "verb": f"  1 licence\nrise v 1 0 1 1 {rise:08d}  \n",
        "adj": "  1 licence\n",
        "adv": "  1 licence\n",
    }
    for part in PARTS:
        (tmp_path / f"data.{part}").write_text(data[part] or "  1 licence\n")
        (tmp_path / f"index.{part}").write_text(index[part])
    (tmp_path / "verb.exc").write_text("rose rise\n")
    (tmp_path / "cntlist.rev").write_text("rise%2:38:00:: 1 26\nrose%1:20:00:: 1 3\n")
    wordnet = WordNet(tmp_path)
    assert [(s.part, s.lemmas, s.count) for s in wordnet.senses("rose")] == [
        ("verb", ("rise", "climb"), 26),
        ("noun", ("rose", "rose bush"), 3),
    ]
    assert wordnet.bases("roses", "noun") == ["rose"]
    assert wordnet.bases("rising", "verb") == ["rise"]
    assert "roses" in wordnet
    assert "" not in wordnet
    assert "thé" not in wordnet
    assert "r" not in wordnet
    assert wordnet.senses("unknown") == []


@pytest.mark.skipif(not (FOLDER / "index.noun").is_file(), reason="wordnet-base is not installed")
def test_the_real_wordnet() -> None:
    """Debian's files give the synonyms that its own browser shows, irregular forms included."""
    wordnet = WordNet()
    assert wordnet.senses("cities")[0].lemmas == ("city", "metropolis", "urban center")
    assert wordnet.senses("men")[0].lemmas[:2] == ("man", "adult male")
    assert "telly" in wordnet
    assert "zzzz" not in wordnet
    assert "the" not in wordnet
    words = [Word("tv", 0, 2)]
    assert [s.text for s in WordNetSynonyms(wordnet).synonyms("tv", words)[0]][:2] == [
        "television",
        "telecasting",
    ]

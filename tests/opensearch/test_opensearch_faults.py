"""What a failing server does to a question and to a load: each fault has its right behaviour."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from opensearch_fake import GOOD_SHARDS, HIT, LEDGER, META, RESET, Fake, Reply, fake_server, found

from quoth.errors import BackendError, BusyError, IndexUnusableError, InputError, QuothError
from quoth.retrieve.opensearch import Address, ExistingIndex, Fields, OpenSearchStore
from quoth.retrieve.opensearch.hits import matched_of
from quoth.retrieve.opensearch.wire import Patience, Wire, check_product
from quoth.types import Document, Query, Source

BIRDS = Query("birds")
QUICK = Patience(connect=0.5, read=0.3, tries=3, first=0.01, longest=0.05, total=2.0)
BATCH = [(Source("a.txt", "1"), [Document("a", "Birds fly.\n\nFish swim.", title="A", source="a.txt")])]


@pytest.fixture
def fake() -> Iterator[Fake]:
    with fake_server() as server:
        yield server


def wire_to(fake: Fake, *, options: str = "", pauses: list[float] | None = None) -> Wire:
    pause = pauses.append if pauses is not None else (lambda seconds: None)
    return Wire(
        Address.parse(fake.address + options, environment={}), asking=QUICK, loading=QUICK, pause=pause
    )


def store_on(fake: Fake, *, options: str = "", pauses: list[float] | None = None) -> OpenSearchStore:
    return OpenSearchStore(wire_to(fake, options=options, pauses=pauses), meta=META)


def test_a_good_server_answers(fake: Fake) -> None:
    """The fake itself must work, else the tests below show nothing."""
    hits = store_on(fake).retrieve(BIRDS, k=3)
    assert [(s.item.document_id, s.item.text, s.score) for s in hits] == [("d", "Birds", 2.5)]
    assert not hits.partial


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(fake: Fake, status: int) -> None:
    """A refusal for now is tried again, with growing pauses, and costs nothing but time."""
    fake.queued["_search"] = [Reply({"error": "busy"}, status)] * 2
    pauses: list[float] = []
    assert len(store_on(fake, pauses=pauses).retrieve(BIRDS, k=3)) == 1
    assert len(pauses) == 2
    assert 0.005 <= pauses[0] <= 0.01
    assert pauses[1] <= 0.02


def test_a_server_that_stays_busy_is_an_error(fake: Fake) -> None:
    """After the last try there is one clear error, with the count and the server's reason."""
    fake.always["_search"] = Reply({"error": {"type": "rejected", "reason": "queue full"}}, 429)
    with pytest.raises(BackendError, match="refused 3 times: rejected: queue full") as caught:
        store_on(fake).retrieve(BIRDS, k=3)
    assert caught.value.exit_code == 6
    assert len(fake.paths("_search")) == 3


def test_retry_after_is_honoured_within_bounds(fake: Fake) -> None:
    """The server's own wish for a pause counts, but no server can make us wait for ever."""
    fake.queued["_search"] = [Reply({"error": "busy"}, 429, {"retry-after": "0.04"})]
    fake.queued["_doc/ledger"] = [Reply({"error": "busy"}, 503, {"retry-after": "86400"})]
    pauses: list[float] = []
    store_on(fake, pauses=pauses).retrieve(BIRDS, k=3)
    assert sorted(pauses) == [0.04, 0.05]


def test_a_slow_server_is_given_up(fake: Fake) -> None:
    """A question does not hang: the time-out of one try and the number of tries bound it."""
    fake.always["_search"] = Reply(found(HIT), wait=1.0)
    with pytest.raises(BackendError, match="did not answer in time, 3 times"):
        store_on(fake).retrieve(BIRDS, k=3)


def test_a_silent_server_is_left_alone_for_a_while(fake: Fake) -> None:
    """After a failure the next question fails at once instead of waiting for the same silence."""
    fake.always["_search"] = Reply(found(HIT), wait=1.0)
    store = store_on(fake)
    with pytest.raises(BackendError):
        store.retrieve(BIRDS, k=3)
    asked = len(fake.asked)
    with pytest.raises(BackendError, match="did not answer a moment ago"):
        store.retrieve(BIRDS, k=3)
    assert len(fake.asked) == asked


def test_a_reset_connection_is_tried_again(fake: Fake) -> None:
    """One broken connection is not a broken server."""
    fake.queued["_search"] = [RESET]
    assert len(store_on(fake).retrieve(BIRDS, k=3)) == 1


def test_a_server_that_always_resets_is_an_error(fake: Fake) -> None:
    """The message names the place and the likely cause."""
    fake.always["_search"] = RESET
    with pytest.raises(BackendError, match=r"cannot be reached.*add \?tls=1"):
        store_on(fake).retrieve(BIRDS, k=3)


def test_a_truncated_body_is_tried_again(fake: Fake) -> None:
    """A body that ends early is noticed and asked for again."""
    fake.queued["_search"] = [Reply(found(HIT), short=10)]
    assert len(store_on(fake).retrieve(BIRDS, k=3)) == 1


@pytest.mark.parametrize("body", [b'{"hits": {"hi', b"<html>busy</html>", b"\xff\xfe\x00", b"[1, 2]", b'"x"'])
def test_what_is_no_json_object_is_an_error(fake: Fake, body: bytes) -> None:
    """Broken JSON, HTML of a proxy, bytes and JSON of another shape end as one kind of error."""
    fake.always["_search"] = Reply(body)
    with pytest.raises(BackendError):
        store_on(fake).retrieve(BIRDS, k=3)


@pytest.mark.parametrize(
    "reply",
    [
        {"hits": {}},
        {"hits": {"hits": [{"_score": 1.0}]}},
        {"hits": {"hits": [{"_score": None, "_source": HIT["_source"]}]}},
        {"hits": {"hits": [{"_score": 1.0, "_source": {"document_id": "d"}}]}},
        {"hits": 7},
    ],
)
def test_a_reply_without_what_we_need_is_an_error(fake: Fake, reply: dict[str, object]) -> None:
    """JSON of the wrong shape is an error of the backend, never a traceback."""
    fake.always["_search"] = Reply(reply)
    with pytest.raises(BackendError, match="cannot be read"):
        store_on(fake).retrieve(BIRDS, k=3)


def test_html_of_a_proxy_is_an_error(fake: Fake) -> None:
    """A proxy's page instead of JSON is said to be no OpenSearch."""
    fake.always["_search"] = Reply(b"<html></html>", headers={"content-type": "text/html"})
    with pytest.raises(BackendError, match="broken JSON"):
        store_on(fake).retrieve(BIRDS, k=3)


FAILED = {
    "total": 3,
    "successful": 2,
    "skipped": 0,
    "failed": 1,
    "failures": [{"reason": {"reason": "disk gone"}}],
}


def test_failed_shards_are_an_error_unless_allowed(fake: Fake) -> None:
    """Nothing partial is reported as complete: a missing shard is an error, whatever the server lets pass."""
    fake.always["birds/_search"] = Reply(found(HIT, _shards=FAILED))
    with pytest.raises(BackendError, match="1 of 3 shards failed: disk gone") as caught:
        store_on(fake).retrieve(BIRDS, k=3)
    assert caught.value.code == "partial"
    assert "allow_partial_search_results=false" in fake.paths("birds/_search")[0]


def test_partial_answers_say_so_where_they_are_allowed(fake: Fake) -> None:
    """With partial=1 the hits carry the mark and the counts."""
    fake.always["birds/_search"] = Reply(found(HIT, _shards=FAILED))
    hits = store_on(fake, options="?partial=1").retrieve(BIRDS, k=3)
    assert len(hits) == 1
    assert hits.partial
    assert (hits.shards.total, hits.shards.failed) == (3, 1)
    assert "allow_partial_search_results=true" in fake.paths("birds/_search")[0]


def test_time_that_ran_out_is_an_error_unless_allowed(fake: Fake) -> None:
    """A search that the server broke off is partial, too."""
    fake.always["birds/_search"] = Reply(found(HIT, timed_out=True))
    with pytest.raises(BackendError, match="ran out of time"):
        store_on(fake).retrieve(BIRDS, k=3)
    assert store_on(fake, options="?partial=1").retrieve(BIRDS, k=3).partial


def test_all_shards_failed_is_an_error_even_where_partial_is_allowed(fake: Fake) -> None:
    """No shard at all is not a partial answer."""
    fake.always["birds/_search"] = Reply(found(_shards={"total": 2, "failed": 2, "failures": []}))
    with pytest.raises(BackendError, match="2 of 2 shards failed"):
        store_on(fake, options="?partial=1").retrieve(BIRDS, k=3)


def test_a_red_index_is_an_error_with_a_hint(fake: Fake) -> None:
    """What a real server sends for a lost shard (503) says where to look."""
    error = {"type": "search_phase_execution_exception", "reason": "all shards failed", "root_cause": []}
    fake.always["birds/_search"] = Reply({"error": error, "status": 503}, 503)
    with pytest.raises(BackendError, match=r"not able to answer.*all shards failed.*_cluster/health"):
        store_on(fake).retrieve(BIRDS, k=3)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"version": {"number": "8.15.0", "build_flavor": "default"}, "tagline": "You Know, for Search"},
            "Elasticsearch 8.15.0",
        ),
        ({"hello": "world"}, "not a search server"),
        (
            {"version": {"number": "1.3.20", "distribution": "opensearch"}},
            "OpenSearch 1.3.20; quoth needs 2.4",
        ),
        ({"version": {"number": "2.3.0", "distribution": "opensearch"}}, "OpenSearch 2.3.0"),
        ({"version": {"number": "", "distribution": "opensearch"}}, "needs 2.4"),
    ],
)
def test_the_wrong_product_or_version_is_named(fake: Fake, body: object, words: str) -> None:
    """Elasticsearch, something else, and what is too old are told apart."""
    fake.always["/"] = Reply(body)
    with pytest.raises(BackendError, match=words):
        check_product(wire_to(fake))


def test_a_later_version_is_fine(fake: Fake) -> None:
    """3.x and pre-releases pass."""
    fake.always["/"] = Reply({"version": {"number": "3.2.0-rc1", "distribution": "opensearch"}})
    assert check_product(wire_to(fake)) == (3, 2, 0)


def test_a_user_who_may_not_look_at_the_cluster_can_still_search(fake: Fake) -> None:
    """403 on the root is no reason to refuse."""
    fake.always["/"] = Reply({"error": {"type": "security_exception", "reason": "no permissions"}}, 403)
    assert check_product(wire_to(fake))


def test_a_refused_login_says_what_to_set(fake: Fake) -> None:
    """401 is not tried again, and names the variables."""
    fake.always["/"] = Reply(b"Unauthorized", 401, {"content-type": "text/plain"})
    with pytest.raises(BackendError, match=r"refused the login.*QUOTH_OPENSEARCH_USER"):
        check_product(wire_to(fake))
    assert len(fake.asked) == 1


def test_a_missing_index_is_a_mistake_of_the_users(fake: Fake) -> None:
    """No such index: exit code 2, and the command that makes one."""
    error = {"type": "index_not_found_exception", "reason": "no such index [birds]"}
    fake.always["_mapping"] = Reply({"error": error, "status": 404}, 404)
    with pytest.raises(InputError, match=r"no index 'birds'.*quoth index") as caught:
        OpenSearchStore.connect(fake.address)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("meta", "words"),
    [
        ({}, "not made by quoth"),
        ({"quoth": {"format": "one"}}, "not made by quoth"),
        ({"quoth": {**META, "format": 99}}, "format 99, newer"),
        ({"quoth": {**META, "format": 0}}, "format 0, older"),
    ],
)
def test_an_index_that_is_not_ours_is_refused(fake: Fake, meta: object, words: str) -> None:
    """Somebody's index, a newer and an older one are refused and left as they are."""
    fake.always["_mapping"] = Reply({"birds": {"mappings": {"_meta": meta}}})
    with pytest.raises(IndexUnusableError, match=words) as caught:
        OpenSearchStore.connect(fake.address, create=True)
    assert caught.value.exit_code == 4
    assert not [method for method, *_ in fake.asked if method != "GET"]


def test_a_server_that_is_down_is_said_at_once() -> None:
    """Nothing listens: exit code 6 with the host, in well under the time-outs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(BackendError, match=f"127.0.0.1:{port} cannot be reached: Connection refused"):
        OpenSearchStore.connect(f"opensearch://127.0.0.1:{port}/birds")


def test_the_next_host_is_asked_where_one_is_down(fake: Fake) -> None:
    """Of several hosts one that answers is enough."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        dead = probe.getsockname()[1]
    address = Address.parse(f"opensearch://127.0.0.1:{dead},127.0.0.1:{fake.port}/birds", environment={})
    for _ in range(4):
        wire = Wire(address, asking=QUICK, loading=QUICK, pause=lambda seconds: None)
        assert len(OpenSearchStore(wire, meta=META).retrieve(BIRDS, k=3)) == 1


def test_plain_http_behind_tls_is_explained(fake: Fake) -> None:
    """TLS asked for where the server speaks none."""
    with pytest.raises(BackendError, match=r"TLS with .* failed.*leave out tls=1"):
        check_product(wire_to(fake, options="?tls=1"))


def test_tls_and_its_certificate_are_checked(tmp_path: Path) -> None:
    """A certificate of an unknown authority is refused, and accepted with its authority or with verify=0."""
    trust = pytest.importorskip("opensearch_tls", reason="the helper that makes certificates")
    files = trust.make_certificate(tmp_path)
    if files is None:
        pytest.skip("openssl, which makes the test's certificate, is not here")
    certificate, key = files
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with trust.tls_server(context) as port:
        place = f"opensearch://127.0.0.1:{port}/birds?tls=1"
        with pytest.raises(BackendError, match="certificate verify failed"):
            check_product(Wire(Address.parse(place, environment={}), asking=QUICK))
        for option in (f"&ca={certificate}", "&verify=0"):
            assert check_product(Wire(Address.parse(place + option, environment={}), asking=QUICK)) == (
                2,
                19,
                6,
            )


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({"QUOTH_OPENSEARCH_USER": "ann", "QUOTH_OPENSEARCH_PASSWORD": "secret"}, "Basic YW5uOnNlY3JldA=="),
        ({"QUOTH_OPENSEARCH_API_KEY": "secret"}, "ApiKey secret"),
        ({"QUOTH_OPENSEARCH_TOKEN": "secret"}, "Bearer secret"),
    ],
)
def test_a_login_is_sent_and_never_stored(fake: Fake, variables: dict[str, str], header: str) -> None:
    """Login, API key and token go into the request's header, and into nothing else."""
    address = Address.parse(fake.address, environment=variables)
    store = OpenSearchStore(Wire(address, asking=QUICK, loading=QUICK), meta=META)
    store.put(BATCH)
    store.retrieve(BIRDS, k=1)
    assert {headers["authorization"] for _, _, _, headers in fake.asked} == {header}
    assert not [path for _, path, body, _ in fake.asked if b"secret" in body or "secret" in path]
    assert "secret" not in repr(address) + str(address)


def bulk_items(*statuses: int) -> Reply:
    return Reply(
        {"errors": True, "items": [{"index": {"status": s, "error": {"reason": "full"}}} for s in statuses]}
    )


def test_refused_records_are_sent_again_alone(fake: Fake) -> None:
    """Of a bulk of three, the two that were refused for now (429, 503) are sent again, then the one."""
    fake.queued["/_bulk"] = [bulk_items(429, 201, 503), bulk_items(201, 429)]
    pauses: list[float] = []
    store_on(fake, pauses=pauses).put(BATCH)
    sent = [body.count(b"\n") // 2 for _, path, body, _ in fake.asked if path.startswith("/_bulk")]
    assert sent == [3, 2, 1]
    assert len(pauses) == 2


def test_records_refused_for_ever_are_an_error_and_change_nothing(fake: Fake) -> None:
    """When the tries are used up the put fails, its tokens stay hidden, and the count is said."""
    fake.always["/_bulk"] = lambda body: bulk_items(*[429] * (body.count(b"\n") // 2))
    with pytest.raises(BackendError, match=r"refused 3 records.*full.*What is stored is unchanged"):
        store_on(fake).put(BATCH)
    ledgers = [body for method, path, body, _ in fake.asked if method == "PUT" and "ledger" in path]
    assert b'"hidden":[]' in ledgers[-1]
    assert b'"writer":null' in ledgers[-1]
    assert fake.paths("_delete_by_query")


def test_a_record_that_is_never_taken_fails_at_once(fake: Fake) -> None:
    """A mapping error is not tried again."""
    fake.always["/_bulk"] = bulk_items(201, 400, 201)
    with pytest.raises(BackendError, match=r"refused a record \(400\): full"):
        store_on(fake).put(BATCH)
    assert len(fake.paths("/_bulk")) == 1


@pytest.mark.parametrize("items", [[], [{"index": {"status": 201}}] * 9, "no", [None] * 3])
def test_a_bulk_reply_that_does_not_match_is_an_error(fake: Fake, items: object) -> None:
    """A reply with fewer or other items than were sent is never taken for success."""
    fake.always["/_bulk"] = Reply({"items": items})
    with pytest.raises(BackendError):
        store_on(fake).put(BATCH)


def test_a_server_lost_during_a_put_is_an_error(fake: Fake) -> None:
    """The put fails with the first error, though taking it back fails as well."""
    fake.always["/_bulk"] = RESET
    fake.always["_refresh"] = RESET
    with pytest.raises(BackendError, match="cannot be reached"):
        store_on(fake).put(BATCH)


def test_too_large_a_document_is_named_as_such(fake: Fake) -> None:
    """413 says which limit of the server to raise."""
    fake.always["/_bulk"] = Reply(b"", 413)
    with pytest.raises(InputError, match=r"so large a document.*http.max_content_length"):
        store_on(fake).put(BATCH)


def test_a_lost_reply_to_the_first_write_is_no_rival(fake: Fake) -> None:
    """The ledger was written but the reply lost: the repetition meets our own state, not another writer's."""
    written: list[bytes] = []
    replies = iter(
        [RESET, Reply({"error": {"type": "version_conflict_engine_exception", "reason": "x"}}, 409)]
    )

    def ledger(body: bytes) -> Reply:
        if not body:
            state = json.loads(written[-1]) if written else LEDGER["_source"]
            return Reply({"_seq_no": len(written), "_primary_term": 1, "_source": state})
        reply = next(replies, None)
        if reply is None or reply is RESET:
            written.append(body)
        return reply or Reply({"_seq_no": len(written), "_primary_term": 1})

    fake.always["_doc/ledger"] = ledger
    store_on(fake).put(BATCH)
    assert json.loads(written[-1])["body"]["writer"] is None
    assert fake.paths("/_bulk")


def test_another_writer_is_named(fake: Fake) -> None:
    """A writer that gave a sign of life lately keeps others out, by name: exit code 7."""
    import time

    writer = ["host-a (process 7)", "n", time.time() - 30, time.time() - 5]
    body = {"begun": 3, "flips": 0, "hidden": ["t"], "dead": [], "writer": writer}
    fake.always["_doc/ledger"] = Reply(
        {"_seq_no": 1, "_primary_term": 1, "_source": {"kind": "ledger", "body": body}}
    )
    with pytest.raises(BusyError, match=r"host-a \(process 7\) has been writing") as caught:
        store_on(fake).put(BATCH)
    assert caught.value.exit_code == 7
    assert not fake.paths("/_bulk")


@pytest.mark.parametrize("body", [{}, {"begun": "x"}, None, []])
def test_a_ledger_that_something_else_wrote_is_an_error(fake: Fake, body: object) -> None:
    """An unreadable ledger is never taken for an empty one."""
    fake.always["_doc/ledger"] = Reply({"_seq_no": 1, "_primary_term": 1, "_source": {"body": body}})
    with pytest.raises(IndexUnusableError):
        store_on(fake).retrieve(BIRDS, k=1)


def test_questions_from_many_threads_do_not_mix(fake: Fake) -> None:
    """A store is shared between threads."""
    store = store_on(fake)
    failures: list[QuothError] = []

    def ask() -> None:
        try:
            for _ in range(10):
                assert len(store.retrieve(BIRDS, k=3)) == 1
        except QuothError as problem:
            failures.append(problem)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize(
    "question",
    ['AND OR ( " * ~ ^ / [ ] -x c++ title:x', "(" * 2000, "a " * 1000, "\x00 \ud800", "🦅", "the of and"],
)
def test_no_question_reaches_a_query_language(fake: Fake, question: str) -> None:
    """Whatever is typed goes into match clauses as it is; no clause parses a syntax."""
    store_on(fake).retrieve(Query(question), k=3)
    sent = next(body for _, path, body, _ in fake.asked if "/birds/_search" in path)
    assert b"query_string" not in sent
    assert b'"match"' in sent
    sent.decode("utf-8")


def test_an_existing_index_names_the_fields_it_has(fake: Fake) -> None:
    """A field that is not there, or cannot be searched, is a mistake of the user's, with what there is."""
    properties = {"body": {"type": "text"}, "number": {"type": "keyword"}, "title": {"type": "text"}}
    fake.always["_mapping"] = Reply({"birds": {"mappings": {"properties": properties}}})
    with pytest.raises(InputError, match=r"no field 'text'.*body, number, title"):
        ExistingIndex(wire_to(fake), Fields(text="text"))
    with pytest.raises(InputError, match=r"'number'.*type keyword.*body, title"):
        ExistingIndex(wire_to(fake), Fields(text="number"))
    assert ExistingIndex(wire_to(fake), Fields(text="body", metadata={"t": "title"}))
    with pytest.raises(InputError, match=r"'title'.*cannot be compared.*number"):
        ExistingIndex(wire_to(fake), Fields(text="body", id="title"))


def test_shards_that_are_not_mentioned_are_no_failure(fake: Fake) -> None:
    """A reply without shard counts is taken as it is."""
    fake.always["birds/_search"] = Reply({"hits": {"hits": [HIT]}})
    hits = store_on(fake).retrieve(BIRDS, k=1)
    assert not hits.partial
    assert GOOD_SHARDS["failed"] == hits.shards.failed == 0


def test_explanations_are_read_whatever_they_are_of() -> None:
    """Terms, words that stand for each other and phrases with gaps are told; the rest of a tree is passed over."""

    def node(value: float, what: str, *details: object) -> dict[str, object]:
        return {"value": value, "description": what, "details": list(details)}

    tree = node(
        9.0,
        "sum of:",
        node(
            1.0,
            "weight(words:wide in 3) [PerFieldSimilarity], result of:",
            node(5.0, "weight(words:no in 1)"),
        ),
        node(3.0, 'weight(words:"wing ? crane"~2 in 3) [PerFieldSimilarity], result of:'),
        node(2.0, "weight(Synonym(words:big words:large^0.5) in 3) [PerFieldSimilarity], result of:"),
        node(
            0.5, "max of:", node(4.0, "weight(title:a:b in 3)"), node(0.1, "weight(title:wide in 3)"), "odd"
        ),
    )
    found = matched_of({"hits": {"hits": [{"_explanation": tree}]}})
    assert found == ("a:b", "wing _ crane", "big", "large", "wide")
    assert matched_of({"hits": {"hits": []}}) == matched_of({"hits": {"hits": [{}]}}) == ()

"""Bytes and headers of answers."""

import orjson
import pytest

from fleetqueue.embedded.apiserver.http.exchange import Listing, ServerResponse
from fleetqueue.embedded.apiserver.http.responses import encoded, head, headers, is_for_people
from fleetqueue.embedded.apiserver.storage.interface import StorageEntry

YAML = "application/yaml"


def entry(name, **body):
    return StorageEntry(name, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **body}, 7)


def test_an_object_goes_out_with_the_bytes_that_it_has():
    one = entry("a")

    assert encoded(ServerResponse(200, one))[0] is one.json


def test_a_list_is_put_together_from_the_bytes_of_its_items():
    listing = Listing("ConfigMapList", "v1", {"resourceVersion": "7"}, [entry("a"), entry("b", data={"k": "v"})])

    assert orjson.loads(encoded(ServerResponse(200, listing))[0]) == listing.manifest


def test_items_of_a_built_in_kind_do_not_repeat_it():
    beginning = b'{"apiVersion":"v1","kind":"ConfigMap",'

    json = Listing("ConfigMapList", "v1", {}, [entry("a"), entry("b")], beginning).json

    assert orjson.loads(json)["items"] == [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]


def test_an_item_that_begins_otherwise_stays_whole():
    turned = StorageEntry("a", {"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "ConfigMap"}, 7)

    json = Listing("ConfigMapList", "v1", {}, [turned], b'{"apiVersion":"v1","kind":"ConfigMap",').json

    assert orjson.loads(json)["items"] == [turned.object]


def test_a_list_may_be_empty():
    assert Listing("PodList", "v1", {}, []).json == b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}'


@pytest.mark.parametrize(
    ("body", "media_type", "content", "written_in"),
    [
        ("ok", YAML, b"ok", "text/plain; charset=utf-8"),
        (b'{"a":1}', "application/json", b'{"a":1}', "application/json"),
        ({"a": 1}, "application/json", b'{"a":1}', "application/json"),
        ({"b": 1, "a": "y"}, YAML, b'a: "y"\nb: 1\n', YAML),
        (b'{"a":1}', YAML, b"a: 1\n", YAML),
    ],
)
def test_encoded(body, media_type, content, written_in):
    assert encoded(ServerResponse(200, body), media_type) == (content, written_in)


def test_people_get_line_breaks():
    assert encoded(ServerResponse(200, {"a": 1}), is_pretty=True)[0] == b'{\n  "a": 1\n}\n'


@pytest.mark.parametrize(
    ("pretty", "agent", "wanted"),
    [(None, "kubectl/v1", False), (None, "curl/8", True), ("true", "kubectl", True), ("0", "curl/8", False)],
)
def test_who_are_people(pretty, agent, wanted):
    assert is_for_people(pretty, agent) is wanted


def test_every_answer_has_its_own_id_and_is_not_kept():
    one, other = (dict(headers("application/json")) for _ in range(2))

    assert one["Audit-Id"] != other["Audit-Id"]
    assert one["Cache-Control"] == "no-cache, private"


def test_the_id_of_who_asked_is_kept():
    assert dict(headers("application/json", audit_id="mine"))["Audit-Id"] == "mine"


def test_who_shall_come_back_is_told_when():
    assert dict(headers("application/json", retry_after=1.0))["Retry-After"] == "1"


def warned(*warnings):
    return [value for name, value in headers("application/json", warnings) if name == "Warning"]


def test_a_warning_is_a_header_of_its_own():
    assert warned('unknown field "x"', "b", "b", "") == ['299 - "unknown field \\"x\\""', '299 - "b"']


def test_a_warning_cannot_be_the_end_of_its_header():
    assert warned("a\r\nSet-Cookie: x") == ['299 - "a  Set-Cookie: x"']


def test_too_much_is_cut():
    told = warned(*(f"{number}{'x' * 1000}" for number in range(100)))

    assert len(told) == 16
    assert all(len(one) < 300 for one in told)


@pytest.mark.parametrize(
    ("status", "length", "framing"),
    [
        pytest.param(200, 2, b"Content-Length: 2\r\n", id="a body"),
        pytest.param(200, None, b"Transfer-Encoding: chunked\r\n", id="bit by bit"),
        pytest.param(204, 0, b"", id="no content"),
    ],
)
def test_the_head_says_how_long_the_body_is(status, length, framing):
    first, rest = head(status, [("A", "b")], length).split(b"\r\n", 1)

    assert first.startswith(f"HTTP/1.1 {status} ".encode())
    assert rest == b"A: b\r\n" + framing + b"\r\n"

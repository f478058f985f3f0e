"""Requests as they come over the wire: what is read from them, and what is refused."""

import pytest

from fleetqueue.embedded.apiserver.http import http1
from fleetqueue.embedded.apiserver.http.http1 import MalformedRequest, RequestParser

GET = "GET /api HTTP/1.1"


class Told:
    """What a parser has told."""

    def __init__(self):
        self.heads, self.bodies, self.whole = [], [], 0

    def begun(self, head):
        self.heads.append(head)
        self.bodies.append(b"")

    def came(self, body):
        self.bodies[-1] += body

    def ended(self):
        self.whole += 1


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def parser(told):
    return RequestParser(told)


def lines(*parts):
    return "\r\n".join([*parts, "", ""]).encode()


def test_a_request_says_what_it_wants(parser, told):
    parser.feed(lines("PATCH /api/v1/x?a=b HTTP/1.1", "Host: a", "impersonate-group: g1", "Impersonate-Group:g2 "))

    (head,) = told.heads
    assert (head.method, head.target) == ("PATCH", "/api/v1/x?a=b")
    assert head.headers.getall("Impersonate-Group") == ["g1", "g2"]
    assert (head.length, told.whole) == (0, 1)


def test_requests_are_told_one_after_another_however_they_come(parser, told):
    sent = lines("POST /a HTTP/1.1", "Content-Length: 5") + b"hello" + lines("GET /b HTTP/1.1", "X: y")
    for place in range(len(sent)):
        parser.feed(sent[place : place + 1])

    assert [head.target for head in told.heads] == ["/a", "/b"]
    assert (told.bodies, told.whole) == ([b"hello", b""], 2)


def test_a_body_in_chunks_is_put_together(parser, told):
    parser.feed(lines("POST / HTTP/1.1", "Transfer-Encoding: chunked"))
    parser.feed(b"3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n")

    assert (told.bodies, told.whole) == ([b"hello"], 1)


@pytest.mark.parametrize(
    ("parts", "keeps_alive"),
    [
        pytest.param([GET], True, id="as a rule"),
        pytest.param([GET, "Connection: Close"], False, id="the client closes"),
        pytest.param(["GET / HTTP/1.0"], False, id="an old client"),
        pytest.param(["GET / HTTP/1.0", "Connection: keep-alive"], True, id="an old client that asks again"),
        pytest.param([GET, "Connection: Upgrade", "Upgrade: SPDY/3.1"], False, id="another protocol is wished for"),
    ],
)
def test_whether_another_request_may_follow(parser, told, parts, keeps_alive):
    parser.feed(lines(*parts))

    assert told.heads[0].keeps_alive is keeps_alive


def test_what_comes_in_another_protocol_is_not_read(parser, told):
    parser.feed(lines(GET, "Connection: Upgrade", "Upgrade: SPDY/3.1") + b"\x80\x03")
    parser.feed(lines(GET))

    assert (len(told.heads), told.whole) == (1, 1)


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        pytest.param(["GET /api HTTP/2.0"], 505, id="another version"),
        pytest.param(["G\x7fT / HTTP/1.1"], 400, id="no method"),
        pytest.param([GET, "no colon"], 400, id="a line without a colon"),
        pytest.param([GET, "Host : a"], 400, id="a space before the colon"),
        pytest.param([GET, "A: b\0"], 400, id="a zero byte"),
        pytest.param([GET, "Content-Length: -1"], 400, id="a negative length"),
        pytest.param([GET, "Content-Length: 1, 2"], 400, id="two lengths in one line"),
        pytest.param([GET, "Content-Length: 1", "Content-Length: 2"], 400, id="two lengths"),
        pytest.param([GET, "Content-Length: 1", "Transfer-Encoding: chunked"], 400, id="a length and chunks"),
        pytest.param([GET, "Transfer-Encoding: gzip, chunked"], 501, id="another encoding"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(parser, parts, status):
    with pytest.raises(MalformedRequest) as refused:
        parser.feed(lines(*parts))

    assert refused.value.status == status


def test_an_endless_head_is_refused(parser, told, monkeypatch):
    monkeypatch.setattr(http1, "LONGEST_HEAD", 100)
    parser.feed(lines(GET, "A: " + "x" * 50))
    parser.feed(b"POST / HTTP/1.1\r\nContent-Length: 500\r\n\r\n" + b"x" * 500)

    with pytest.raises(MalformedRequest) as refused:
        parser.feed(b"GET / HTTP/1.1\r\nA: " + b"x" * 100)

    assert refused.value.status == 431
    assert told.whole == 2

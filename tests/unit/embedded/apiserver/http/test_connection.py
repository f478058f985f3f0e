"""One client's connection, with a transport that only writes down what it is told."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.http import connection as connections
from fleetqueue.embedded.apiserver.http import http1
from fleetqueue.embedded.apiserver.http.connection import CONTINUE, ServerConnection
from fleetqueue.embedded.apiserver.http.http1 import MalformedRequest

POST = b"POST / HTTP/1.1\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


class Transport(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.written = b""
        self.is_reading = True
        self.closed = ""

    def write(self, data):
        self.written += data

    def get_write_buffer_size(self):
        return 0

    def pause_reading(self):
        self.is_reading = False

    def resume_reading(self):
        self.is_reading = True

    def can_write_eof(self):
        return False

    def is_closing(self):
        return bool(self.closed)

    def close(self):
        self.closed = self.closed or "closed"

    def abort(self):
        self.closed = "aborted"


@pytest.fixture
def transport():
    return Transport()


@pytest.fixture
async def connection(transport):
    """A connection whose task does nothing by itself."""

    async def work(connection):
        await asyncio.get_running_loop().create_future()

    made = ServerConnection(work)
    made.connection_made(transport)
    yield made
    made.connection_lost(None)
    await asyncio.wait({made.task})


async def body_of(connection, sent):
    """The body of a request that has come as a whole."""
    connection.data_received(sent)
    return (await connection.request()).body


async def test_requests_that_came_together_are_read_one_after_another(connection):
    connection.data_received(b"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n")

    assert [(await connection.request()).head.target for _ in range(2)] == ["/a", "/b"]


async def test_a_request_may_come_in_pieces(connection):
    reading = asyncio.create_task(connection.request())
    for piece in (b"\r\nGET /a", b" HTTP/1.1\r\nA: b\r", b"\n\r", b"\n"):
        await asyncio.sleep(0)
        connection.data_received(piece)

    assert (await reading).head.headers["a"] == "b"


async def test_what_makes_no_sense_is_told_after_what_does(connection):
    connection.data_received(b"GET /a HTTP/1.1\r\n\r\nnonsense\r\n\r\n")

    assert (await connection.request()).head.target == "/a"
    with pytest.raises(MalformedRequest):
        await connection.request()


async def test_nothing_is_read_far_ahead_of_who_takes_it(connection, transport):
    body = await body_of(connection, POST + b"Content-Length: 1000000\r\n\r\n")
    assert transport.is_reading
    connection.data_received(b"x" * (connections.MOST_AHEAD + 1))
    assert not transport.is_reading

    reading = asyncio.create_task(body.read())
    await asyncio.sleep(0)

    assert transport.is_reading
    reading.cancel()


async def test_a_client_that_goes_while_it_is_answered_is_seen(connection, transport):
    connection.data_received(b"GET /a HTTP/1.1\r\n\r\n")  # before anybody asks for it
    await connection.request()

    assert transport.is_reading


async def test_a_body_ends_where_it_says(connection):
    body = await body_of(connection, POST + b"Content-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\n\r\n")

    assert await body.read() == b"hello"
    assert await body.drop()
    assert (await connection.request()).head.target == "/b"


@pytest.mark.parametrize("chunks", [b"x\r\n", b"1\r\nhello\r\n0\r\n\r\n"])
async def test_chunks_that_make_no_sense_are_refused_and_end_the_connection(connection, chunks):
    body = await body_of(connection, CHUNKED + chunks)

    with pytest.raises(errors.BadRequest):
        await body.read()

    assert not await body.drop()


@pytest.mark.parametrize("head", [POST + b"Content-Length: 6\r\n\r\n", CHUNKED + b"6\r\n"])
async def test_a_body_that_is_too_large_is_refused_and_dropped(connection, monkeypatch, head):
    monkeypatch.setattr(http1, "MOST_BYTES", 5)
    body = await body_of(connection, head + b"hello!" + (b"\r\n0\r\n\r\n" if b"chunked" in head else b""))

    with pytest.raises(errors.ApiError, match="too large"):
        await body.read()

    assert await body.drop()


async def test_a_client_that_waits_is_asked_for_its_body(connection, transport):
    body = await body_of(connection, POST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    connection.data_received(b"x")

    assert await body.read() == b"x"
    assert transport.written == CONTINUE


async def test_a_client_that_was_not_asked_for_its_body_does_not_ask_again(connection, transport):
    body = await body_of(connection, POST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n")

    assert not await body.drop()
    assert transport.written == b""


async def test_a_frozen_connection_neither_reads_nor_writes(connection, transport):
    connection.freeze()
    connection.write(b"hello")
    draining = asyncio.create_task(connection.drain())
    await asyncio.sleep(0)
    assert (transport.written, transport.is_reading, draining.done()) == (b"", False, False)
    assert connection.unsent == 5

    connection.thaw()
    await draining

    assert (transport.written, transport.is_reading) == (b"hello", True)


async def test_the_task_ends_with_the_client(connection):
    connection.connection_lost(None)
    await asyncio.wait({connection.task})

    assert connection.task.cancelled()


async def test_the_connection_ends_with_the_task(transport):
    async def work(connection):
        connection.write(b"bye")

    connection = ServerConnection(work)
    connection.connection_made(transport)
    await connection.task

    assert (transport.written, transport.closed) == (b"bye", "closed")

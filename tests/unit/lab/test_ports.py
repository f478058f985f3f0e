"""Who gets which port, and what happens to one that is taken."""

import random
import socket
import sys

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.lab.ports import FIRST, HIGHEST, LAST, LOOPBACK, assign, consecutive, hold, is_free, reserved


@pytest.fixture
def chooser():
    return random.Random(1)


def test_every_name_gets_a_port_of_its_own(chooser):
    ports = assign(["a", "b", "c"], {}, chooser)

    assert len(set(ports.values())) == 3
    assert all(FIRST <= port <= LAST for port in ports.values())


def test_a_free_port_is_kept(chooser):
    kept = assign(["a", "b"], {}, chooser)

    assert assign(["a", "b"], kept, chooser) == kept


def test_a_taken_port_is_replaced_and_the_others_stay(chooser):
    kept = assign(["a", "b"], {}, chooser)

    with socket.create_server((LOOPBACK, kept["a"])):
        ports = assign(["a", "b"], kept, chooser)

    assert ports["a"] != kept["a"]
    assert ports["b"] == kept["b"]


def test_a_name_that_is_gone_gives_its_port_up(chooser):
    assert set(assign(["b"], assign(["a", "b"], {}, chooser), chooser)) == {"b"}


def test_two_names_that_were_kept_with_one_port_are_parted(chooser):
    port = assign(["a"], {}, chooser)["a"]

    assert len(set(assign(["a", "b"], {"a": port, "b": port}, chooser).values())) == 2


def test_a_held_port_is_not_free_and_refuses_connections(chooser):
    port = assign(["a"], {}, chooser)["a"]

    with hold(port):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((LOOPBACK, port))
        with pytest.raises(OSError, match="in use"):
            socket.create_server((LOOPBACK, port))
    assert is_free(port)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a server listen on a port that is held for it")
def test_a_fleet_that_starts_chooses_no_port_that_is_reserved_for_another():
    with reserved(["a", "b"], {}, random.Random(1)) as first, reserved(["a", "b"], {}, random.Random(1)) as second:
        assert not set(first.values()) & set(second.values())


def test_a_server_listens_on_the_port_that_is_reserved_for_it(chooser):
    with reserved(["a"], {}, chooser) as ports, socket.create_server((LOOPBACK, ports["a"])):
        socket.create_connection((LOOPBACK, ports["a"])).close()


def test_ports_in_a_row_follow_the_names():
    first = next(port for port in range(FIRST, LAST) if is_free(port) and is_free(port + 1))

    assert consecutive(["hub", "cluster1"], first) == {"hub": first, "cluster1": first + 1}


def test_a_taken_port_in_a_row_is_refused_with_its_number():
    taken = next(port for port in range(FIRST + 1, LAST) if is_free(port) and is_free(port - 1))

    with (
        socket.create_server((LOOPBACK, taken)),
        pytest.raises(EngineError, match=rf"port {taken}, which cluster1 should have, is taken .* --ports-from"),
    ):
        consecutive(["hub", "cluster1"], taken - 1)


def test_a_row_ends_where_ports_end():
    with pytest.raises(EngineError, match=f"2 ports from {HIGHEST} go beyond {HIGHEST}; begin at {HIGHEST - 1}"):
        consecutive(["hub", "cluster1"], HIGHEST)

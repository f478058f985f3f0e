"""Ask an API server from a process of its own; print what was measured as one line of JSON.

Usage: generator.py <port> <folder of the keys> <what> <numbers>...

- `fill <objects>`: make the namespace `listed` with so many ConfigMaps.
- `verbs <prefix> <requests>`: one connection, one request after another, verb by verb. Beside the seconds of each
  request goes the CPU time of this process: what is left is the server and the way to it.
- `writers <prefix> <writers> <requests>`: so many connections write at the same time.
- `watchers <prefix> <watchers> <events>`: so many watches; for each event the seconds until the last one has it.
"""

import json
import select
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from servers.requests import CHUNK, MERGE_PATCH, Connection, config_maps, create, create_job, request

LISTED = "listed"
Connect = Callable[[], Connection]


def fill(connect: Connect, objects: int) -> dict[str, Any]:
    connection = connect()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LISTED}}
    connection.timed(request("POST", "/api/v1/namespaces", namespace))
    for number in range(objects):
        connection.timed(create(f"object-{number}", LISTED))
    return {}


def verbs(connect: Connect, prefix: str, number: int) -> dict[str, Any]:
    connection, path = connect(), config_maps()
    steps = {
        "create ConfigMap": [create(f"{prefix}-{one}") for one in range(number)],
        "create Job": [create_job(f"{prefix}-{one}") for one in range(number)],
        "get": [request("GET", f"{path}/{prefix}-{one % number}") for one in range(2 * number)],
        "patch": [
            request("PATCH", f"{path}/{prefix}-{one}", {"data": {"key-1": f"changed {one}"}}, MERGE_PATCH)
            for one in range(number)
        ],
        "list 200": [request("GET", config_maps(LISTED))] * max(number // 4, 5),
    }
    connection.timed(request("GET", "/healthz"))
    return {name: _sequence(connection, requests) for name, requests in steps.items()}


def _sequence(connection: Connection, requests: list[bytes]) -> dict[str, Any]:
    cpu = process_time()
    seconds = [connection.timed(one) for one in requests]
    return {"seconds": seconds, "cpu": (process_time() - cpu) / len(requests)}


def writers(connect: Connect, prefix: str, number: int, requests: int) -> dict[str, Any]:
    connections = [connect() for _ in range(number)]
    work = [[create(f"{prefix}-{writer}-{one}") for one in range(requests)] for writer in range(number)]
    gate = threading.Barrier(number + 1)

    def write(connection: Connection, mine: list[bytes]) -> None:
        gate.wait()
        for one in mine:
            connection.timed(one)

    threads = [threading.Thread(target=write, args=pair) for pair in zip(connections, work, strict=True)]
    for thread in threads:
        thread.start()
    gate.wait()
    began, cpu = perf_counter(), process_time()
    for thread in threads:
        thread.join()
    seconds = perf_counter() - began
    return {"per second": number * requests / seconds, "cpu": (process_time() - cpu) / seconds}


def watchers(connect: Connect, prefix: str, number: int, events: int) -> dict[str, Any]:
    writer, watching = connect(), [connect() for _ in range(number)]
    for connection in watching:
        connection.socket.sendall(request("GET", f"{config_maps()}?watch=1&resourceVersion=0&timeoutSeconds=600"))
    poll = select.poll()
    sockets = {connection.socket.fileno(): connection.socket for connection in watching}
    for descriptor in sockets:
        poll.register(descriptor, select.POLLIN)
    found = []
    for event in range(events + 1):
        name = f'"name":"{prefix}-{event}"'.encode()
        began = perf_counter()
        writer.timed(create(f"{prefix}-{event}"))
        _until_all_have(poll, sockets, name)
        found.append(perf_counter() - began)
    return {"seconds": found[1:]}  # before the first one, everything that was there came too


def _until_all_have(poll: select.poll, sockets: dict[int, Any], name: bytes) -> None:
    waiting, came = set(sockets), dict.fromkeys(sockets, b"")
    while waiting:
        for descriptor, _ in poll.poll(30_000):
            came[descriptor] = came[descriptor][-200:] + sockets[descriptor].recv(CHUNK)
            while sockets[descriptor].pending():
                came[descriptor] += sockets[descriptor].recv(CHUNK)
            if name in came[descriptor]:
                waiting.discard(descriptor)


def main() -> None:
    port, pki, what, *arguments = sys.argv[1:]
    work = {"fill": fill, "verbs": verbs, "writers": writers, "watchers": watchers}[what]
    numbers = [int(one) if one.isdigit() else one for one in arguments]
    print(json.dumps(work(lambda: Connection(int(port), Path(pki)), *numbers)))


if __name__ == "__main__":
    main()

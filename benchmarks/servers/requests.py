"""Requests as finished bytes, and a connection that sends them and reads answers with as little work as it can."""

import json
import socket
import ssl
from pathlib import Path
from time import perf_counter

HOST = "127.0.0.1"
MERGE_PATCH = "application/merge-patch+json"
CHUNK = 1 << 18
END_OF_CHUNKS = b"\r\n0\r\n\r\n"


class Connection:
    """A kept-alive TLS connection of the administrator, which blocks."""

    def __init__(self, port: int, pki: Path) -> None:
        context = ssl.create_default_context(cafile=pki / "ca.crt")
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        plain = socket.create_connection((HOST, port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="localhost")

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and all bytes of the answer, whose body may still be in chunks."""
        self.socket.sendall(request)
        answer = self.socket.recv(CHUNK)
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self.socket.recv(CHUNK)
        head = answer[:end].lower()
        place = head.find(b"content-length:")
        if place >= 0:
            whole = end + 4 + int(head[place + 15 :].split(b"\r\n", 1)[0])
            while len(answer) < whole:
                answer += self.socket.recv(CHUNK)
        else:
            while not answer.endswith(END_OF_CHUNKS):
                answer += self.socket.recv(CHUNK)
        return int(answer[9:12]), answer

    def timed(self, request: bytes) -> float:
        """Send a request; return the seconds until its answer was there."""
        began = perf_counter()
        status, answer = self.ask(request)
        seconds = perf_counter() - began
        if status >= 300:
            raise RuntimeError(f"{request[:80]!r}: {answer[:500]!r}")
        return seconds

    def close(self) -> None:
        self.socket.close()


def request(method: str, path: str, body: object = None, content_type: str = "application/json") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: benchmark\r\nAccept: application/json\r\n"
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    if content:
        head += f"Content-Type: {content_type}\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"\r\n" + content


def config_maps(namespace: str = "default") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def config_map(name: str) -> dict[str, object]:
    """About a kilobyte."""
    data = {f"key-{number}": "x" * 80 for number in range(10)}
    labels = {"app": "benchmark", "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": data}


def create(name: str, namespace: str = "default") -> bytes:
    return request("POST", config_maps(namespace), config_map(name))


def create_job(name: str) -> bytes:
    container = {
        "name": "main",
        "image": "busybox",
        "args": ["sleep", "30"],
        "resources": {"requests": {"cpu": "1", "memory": "64Mi"}},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    spec = {"suspend": True, "parallelism": 3, "completions": 3, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": spec}
    return request("POST", "/apis/batch/v1/namespaces/default/jobs", job)

"""A connection to an API server that waits for its answers, whatever a loop does meanwhile."""

import http.client
import ssl
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode

import orjson

from fleetqueue.api.requests import JSON, Request, Response
from fleetqueue.fleets.faulty_replies import ARRANGING


class BlockingConnection:
    def __init__(self, url: str, pki: Path) -> None:
        """`pki` is the folder of the cluster's keys, by which we are its administrator."""
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        host, _, port = url.removeprefix("https://").partition(":")
        self._http = http.client.HTTPSConnection(host, int(port), context=context, timeout=30)
        self._lock = Lock()

    def ask(self, request: Request) -> Response:
        with self._lock:  # a test may have several threads
            try:
                return self._sent(request)
            except (http.client.HTTPException, OSError):
                self._http.close()  # it was idle for too long
                return self._sent(request)

    def _sent(self, request: Request) -> Response:
        path = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
        body = None if request.body is None else orjson.dumps(request.body)
        headers = {"Content-Type": request.content_type, "Accept": JSON, "User-Agent": ARRANGING}
        self._http.request(request.method, path, body, headers)
        response = self._http.getresponse()
        return Response(response.status, _decoded(response.read()))

    def close(self) -> None:
        self._http.close()


def _decoded(content: bytes) -> object:
    """Return JSON, or the text where it is something else, as of a health endpoint."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return content.decode(errors="replace")

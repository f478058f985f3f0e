"""The paths that are for no resource: discovery, the shapes of all kinds, health, version."""

import platform
from typing import Final

from fleetqueue import __version__
from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.http.discovery import Discovery
from fleetqueue.apiserver.http.exchange import Answer, Question
from fleetqueue.apiserver.http.openapi import OpenApi
from fleetqueue.apiserver.registry.resources import unknown_path

MAJOR, MINOR, PATCH = "1", "36", "3"
"""The Kubernetes whose API this is; clients choose what they send by it."""
HEALTH: Final = ("healthz", "livez", "readyz")
CHECKS: Final = ("ping", "storage")
ROOTS: Final = ("/api", "/apis", *(f"/{name}" for name in HEALTH), "/openapi/v3", "/version")


class Landmarks:
    def __init__(self, discovery: Discovery, openapi: OpenApi) -> None:
        self.discovery = discovery
        self.openapi = openapi

    async def answer(self, question: Question) -> Answer:
        path, method = question.info.path, question.info.verb
        head, _, rest = path.strip("/").partition("/")
        if head in HEALTH and rest in ("", *CHECKS):
            return Answer(200, _verbose(head) if "verbose" in question.query else "ok")
        found = self._found(path, head, rest)
        if method != "get":
            raise not_allowed()
        return found

    def _found(self, path: str, head: str, rest: str) -> Answer:
        if head in ("api", "apis"):
            return Answer(200, self.discovery.document(path))
        if head == "version" and not rest:
            return Answer(200, version())
        if head == "openapi" and rest.partition("/")[0] == "v3":
            return Answer(200, self.openapi.document(rest.partition("/")[2]))
        if not head:
            return Answer(200, {"paths": list(ROOTS)})
        raise unknown_path()

    def is_known(self, path: str) -> bool:
        """Tell whether a path is at least under a root of the API, where even what is missing is a Status."""
        parts = path.split("/")
        if parts[1:2] == ["api"]:
            return True
        return parts[1:2] == ["apis"] and (len(parts) < 3 or self.discovery.has_group(parts[2]))


def not_allowed() -> errors.ApiError:
    message = "the server does not allow this method on the requested resource"
    return errors.ApiError(message, reason="MethodNotAllowed", code=405)


def version() -> Manifest:
    return {
        "major": MAJOR,
        "minor": MINOR,
        "gitVersion": f"v{MAJOR}.{MINOR}.{PATCH}+fleetqueue-{__version__}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_architecture()}",
    }


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def _verbose(head: str) -> str:
    lines = [f"[+]{check} ok" for check in CHECKS]
    return "\n".join([*lines, f"{head} check passed", ""])

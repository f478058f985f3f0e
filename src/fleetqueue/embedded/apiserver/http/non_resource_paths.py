"""The paths that are for no resource: discovery, the shapes of all kinds, health, version."""

import platform
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fleetqueue import __version__
from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.authentication import Authentication
from fleetqueue.embedded.apiserver.http import issuer, metrics
from fleetqueue.embedded.apiserver.http.discovery import Discovery
from fleetqueue.embedded.apiserver.http.discovery_listing import AGGREGATED_KIND, MEDIA_TYPE
from fleetqueue.embedded.apiserver.http.exchange import RequestContext, ServerResponse
from fleetqueue.embedded.apiserver.http.metrics import ServerMetrics
from fleetqueue.embedded.apiserver.registry.api_services import ApiServices
from fleetqueue.embedded.apiserver.registry.resources import Resources, unknown_path

if TYPE_CHECKING:
    from fleetqueue.embedded.apiserver.http.openapi import OpenApi

MAJOR, MINOR, PATCH = "1", "36", "3"
"""The Kubernetes whose API this is; clients choose what they send by it."""
HEALTH: Final = ("healthz", "livez", "readyz")
CHECKS: Final = ("ping", "storage")
OLD_OPENAPI: Final = "/openapi/v2"
ROOTS: Final = (
    issuer.CONFIGURATION,
    "/api",
    "/apis",
    *(f"/{name}" for name in HEALTH),
    "/metrics",
    OLD_OPENAPI,
    "/openapi/v3",
    issuer.KEYS,
    "/version",
)
OLD_DOCUMENT: Final[Manifest] = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": f"v{MAJOR}.{MINOR}.{PATCH}"},
    "paths": {},
    "definitions": {},
}
"""Next to nothing: what is not described here, old ways of kubectl do not check."""
OLD_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
OLD_BYTES: Final = b"\n\x032.0\x12\x15\n\nKubernetes\x12\x07" + f"v{MAJOR}.{MINOR}.{PATCH}".encode()
"""The same as protobuf, which is all that those ways read."""


class NonResourcePaths:
    def __init__(
        self,
        resources: Resources,
        api_services: ApiServices,
        metrics: ServerMetrics,
        authentication: Authentication,
    ) -> None:
        self.resources = resources
        self.metrics = metrics
        self.authentication = authentication
        self.discovery = Discovery(resources, api_services)

    @cached_property
    def openapi(self) -> "OpenApi":
        from fleetqueue.embedded.apiserver.http.openapi import OpenApi

        return OpenApi(self.resources)

    async def answer(self, context: RequestContext) -> ServerResponse:
        path, method = context.info.path, context.info.verb
        head, _, rest = path.strip("/").partition("/")
        if head in HEALTH and rest in ("", *CHECKS) and not path.endswith("/"):
            return ServerResponse(200, _verbose(head) if "verbose" in context.query else "ok")
        if context.form == AGGREGATED_KIND and (whole := self.discovery.aggregated(path)) is not None:
            return ServerResponse(200, whole, media_type=MEDIA_TYPE)
        if path == OLD_OPENAPI and context.form == OLD_PROTOBUF:
            return ServerResponse(
                200, OLD_BYTES, media_type=OLD_PROTOBUF.replace("@", ".")
            )  # which may not stand in a type
        answer = self._found(path, head, rest)
        if method != "get" and (head != "apis" or "/" in rest):
            raise not_allowed()  # which a real server does not look at where it tells of groups
        return answer

    def _found(self, path: str, head: str, rest: str) -> ServerResponse:
        if head in ("api", "apis"):
            return ServerResponse(200, self.discovery.document(path))
        if head == "version" and not rest:
            return ServerResponse(200, version())
        if head == "openapi" and rest.partition("/")[0] == "v3":
            return ServerResponse(200, self.openapi.document(rest.partition("/")[2]))
        if path == OLD_OPENAPI:
            return ServerResponse(200, OLD_DOCUMENT)
        if path == "/metrics":
            return ServerResponse(200, self.metrics.text(), media_type=metrics.MEDIA_TYPE)
        if path == issuer.CONFIGURATION:
            return ServerResponse(200, issuer.configuration(self.authentication.accounts))
        if path == issuer.KEYS:
            return ServerResponse(200, issuer.keys(self.authentication.accounts), media_type=issuer.KEYS_TYPE)
        if not head:
            return ServerResponse(200, {"paths": list(ROOTS)})
        raise unknown_path()

    def has_statuses(self, path: str) -> bool:
        """Tell whether a path is under a root of the API where even a path that leads nowhere gets a Status."""
        parts = path.split("/")
        if parts[1:2] == ["api"]:
            return True
        group = parts[2] if len(parts) > 2 else ""
        return parts[1:2] == ["apis"] and self.discovery.has_group(group) and not self.discovery.is_custom(group)


def not_allowed() -> errors.ApiError:
    message = "the server does not allow this method on the requested resource"
    return errors.ApiError(message, reason="MethodNotAllowed", code=405)


def version() -> Manifest:
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(int(MINOR) - 1),
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

"""The envelope in which every Kubernetes object is sent as protobuf: four bytes, then its type beside its own bytes."""

from typing import Final, NamedTuple

from fleetqueue.embedded.apiserver.kinds.wire import Malformed, Message
from fleetqueue.embedded.apiserver.kinds.wire_fields import inlined, raw_bytes, string, value

MAGIC: Final = b"k8s\0"


class Envelope(NamedTuple):
    group: str
    version: str
    kind: str
    raw: bytes
    """The message of the object itself."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def addressed(self, group: str, version: str, kind: str) -> "Envelope":
        """Fill in what the sender left out."""
        named = self if self.version else self._replace(group=group, version=version)
        return named._replace(kind=self.kind or kind)


def _unknown() -> Message:
    type_meta = Message("TypeMeta")
    type_meta.add(1, "APIVersion", string("apiVersion", keeps=True))
    type_meta.add(2, "Kind", string("kind", keeps=True))
    unknown = Message("Unknown")
    unknown.add(1, "TypeMeta", inlined(type_meta))
    unknown.add(2, "Raw", value("raw", raw_bytes, keeps=True))
    unknown.add(3, "ContentEncoding", string("contentEncoding", keeps=True))
    unknown.add(4, "ContentType", string("contentType", keeps=True))
    return unknown


_UNKNOWN: Final = _unknown()


def opened(body: bytes) -> Envelope:
    """Open an envelope; raises Malformed, or IndexError where it ends too early."""
    if not body:
        raise Malformed("empty data")
    if not body.startswith(MAGIC):
        prefix = " ".join(map(str, MAGIC))
        raise Malformed(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if len(body) == len(MAGIC):
        raise Malformed("empty body")
    fields = _UNKNOWN.read(body, len(MAGIC), len(body), {}, 0)
    group, _, version = fields.get("apiVersion", "").rpartition("/")
    if "/" in group:
        group = version = ""
    return Envelope(group, version, fields.get("kind", ""), fields.get("raw", b""))

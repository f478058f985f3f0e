"""In which media type and form an answer goes out, read from the Accept header; and what bodies may come in."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.api.requests import JSON
from fleetqueue.embedded.apiserver.http.forms import METADATA, METADATA_LIST, TABLE

YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
KNOWN: Final = (JSON, YAML, PROTOBUF)
"""What a real server reads and writes. We write no protobuf: clients that accept it also accept JSON."""
STREAMED: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
FORMS: Final = (METADATA, METADATA_LIST, TABLE)
META_GROUP: Final = "meta.k8s.io"
META_VERSIONS: Final = ("v1", "v1beta1")
DISCOVERY_GROUP: Final = "apidiscovery.k8s.io"
DISCOVERY_FORM: Final = ("v2", "APIGroupDiscoveryList")
"""Discovery of all groups at once."""


class Accepted(NamedTuple):
    """How an answer is written."""

    media_type: str = JSON
    form: str = ""
    """What objects become: nothing, or one of FORMS."""
    version: str = "v1"
    """The version of the form."""


class Clause(NamedTuple):
    """One of the types that a client takes."""

    media_type: str
    parameters: dict[str, str]
    quality: float

    @property
    def is_any(self) -> bool:
        return self.media_type == "*/*"

    @property
    def converted(self) -> tuple[str, str, str]:
        """What the object shall become: group, version and kind; empty where it stays what it is."""
        group, version, kind = (self.parameters.get(name, "") for name in ("g", "v", "as"))
        return group, version, kind


@lru_cache(maxsize=512)
def negotiated(header: str, *, is_stream: bool = False, has_forms: bool = True, has_many: bool = False) -> Accepted:
    """Choose what the client likes best of what there is; raises NotAcceptable."""
    if not header:
        return Accepted()
    clauses = sorted(_clauses(header), key=lambda clause: (-clause.quality, clause.is_any))
    for clause in clauses:
        accepted = _accepted(clause, has_forms=has_forms)
        if accepted is not None and not (is_stream and accepted.media_type == YAML):
            return accepted
    if not any(clause.is_any or clause.media_type in KNOWN for clause in clauses):
        types = (*KNOWN, *STREAMED) if has_many else KNOWN
        raise _not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(types)}")
    listed = STREAMED if is_stream else KNOWN
    raise _not_acceptable(f"only the following media types are accepted: {', '.join(listed)}")


def _accepted(clause: Clause, *, has_forms: bool) -> Accepted | None:
    if clause.media_type not in (JSON, YAML) and not clause.is_any:
        return None
    media_type = YAML if clause.media_type == YAML else JSON
    if clause.parameters.get("stream", "watch") != "watch":
        return None
    group, version, kind = clause.converted
    if not (group or version or kind):
        return Accepted(media_type)
    if group == DISCOVERY_GROUP:
        is_known = (version, kind) == DISCOVERY_FORM and media_type == JSON
        return Accepted(media_type, kind, version) if is_known and not has_forms else None
    if has_forms and kind in FORMS and group == META_GROUP and version in META_VERSIONS:
        return Accepted(media_type, kind, version)
    return None


def _clauses(header: str) -> Iterator[Clause]:
    for part in header.split(","):
        media_type, *parameters = (piece.strip() for piece in part.split(";"))
        named = dict(pair.split("=", 1) for pair in parameters if "=" in pair)
        if media_type:
            yield Clause(media_type.lower(), named, _quality(named.pop("q", "1")))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _not_acceptable(message: str) -> errors.ApiError:
    return errors.ApiError(message, reason="NotAcceptable", code=406)


def body_type(header: str) -> str:
    """Return the media type of a body, without its parameters; JSON where nothing is said."""
    return header.partition(";")[0].strip().lower() or JSON


def unsupported(known: Sequence[str] = KNOWN) -> errors.ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(known)}"
    return errors.ApiError(message, reason="UnsupportedMediaType", code=415)

"""From the bytes of a body to what they say, in JSON, YAML or protobuf; or the words in which they are refused."""

import json
import re
from typing import Any, Final, NamedTuple

import orjson

from fleetqueue.api import errors, go_json
from fleetqueue.api.requests import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH
from fleetqueue.embedded.apiserver.http import media_types
from fleetqueue.embedded.apiserver.http.media_types import PROTOBUF, YAML
from fleetqueue.embedded.apiserver.http.yaml_error import YamlError
from fleetqueue.embedded.apiserver.kinds.table import UnknownKind, type_of

MOST_BYTES: Final = 3 * 1024 * 1024
MOST_LEVELS: Final = 240
"""How deep values may nest: what we write JSON with ends at 254, and an answer may wrap an object in a few more."""
SHOWN: Final = 30
"""How many bytes of a body a refusal shows."""
DELETE_OPTIONS: Final = "DeleteOptions"

_WHERE: Final = "Go value of type"
_TYPE_META: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)
_JSON_KINDS: Final = {list: "array", str: "string", int: "number", float: "number", bool: "bool", dict: "object"}
_NO_KIND: Final = 'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
Pairs = list[tuple[str, Any]]


class Expected(NamedTuple):
    """The kind that a request's path lets expect in its body."""

    group: str
    version: str
    kind: str
    is_custom: bool = False
    """Whether the body itself must say its kind, as custom kinds demand."""


class Body(NamedTuple):
    value: Any
    mistakes: list[str]
    """What is only warned of: fields that are there twice."""


class _Malformed(Exception):
    """Bytes that say nothing; the text is Go's."""


class _Untyped(Exception):
    """An object that does not say what it is."""


def too_large(limit: int = MOST_BYTES) -> errors.ApiError:
    message = f"Request entity too large: limit is {limit}"
    return errors.ApiError(message, reason="RequestEntityTooLarge", code=413)


def read_object(content: bytes, media_type: str, expected: Expected, *, counts: bool = True) -> Body:
    """Read an object that is created or updated; `counts` tells whether mistakes are looked for."""
    if media_type == PROTOBUF:
        return Body(_protobuf(content, *expected[:3]), [])
    try:
        body = _read(content, media_type, counts=counts)
        return body._replace(value=_typed(body.value, content if expected.is_custom else None))
    except (_Malformed, YamlError, _Untyped) as error:
        message = f"the object provided is unrecognized (must be of type {expected.kind}): {_told(error)}"
        raise _refused(f"{message} ({_beginning(content)})") from None


def read_options(content: bytes, media_type: str) -> Any:
    """Read the options of a deletion; None without a body."""
    if not content:
        return None
    if media_type == PROTOBUF:
        return _protobuf(content, "", "v1", DELETE_OPTIONS)
    try:
        options = _typed(_read(content, media_type, counts=False).value)
    except (_Malformed, YamlError, _Untyped) as error:
        raise _refused(_told(error)) from None
    if options.get("kind", DELETE_OPTIONS) != DELETE_OPTIONS:
        raise _refused(str(_unknown(options)))
    return options


def read_patch(content: bytes, media_type: str, *, counts: bool = True, is_strict: bool = False) -> Body:
    """Read a patch in the way that its media type says."""
    if media_type == APPLY_PATCH:
        body = _applied(content)
        if is_strict and body.mistakes:
            details = "\n  ".join(["yaml: unmarshal errors:", *body.mistakes])
            raise _refused(f"error strict decoding YAML: error converting YAML to JSON: {details}")
        return body
    try:
        return _read(content, JSON, counts=counts)
    except _Malformed as error:
        before = "error decoding patch: " if media_type in (JSON_PATCH, MERGE_PATCH) else ""
        raise _refused(f"{before}{error}") from None


def _applied(content: bytes) -> Body:
    before = "error decoding YAML: "
    try:
        value, mistakes = _yaml(content)
    except YamlError as error:
        raise _refused(f"{before}error converting YAML to JSON: {error}") from None
    except _Malformed as error:
        raise _refused(f"{before}{error}") from None
    if value is None:
        return Body({}, mistakes)
    if not isinstance(value, dict):
        why = f"json: cannot unmarshal {_JSON_KINDS[type(value)]} into {_WHERE} map[string]interface {{}}"
        raise _refused(f"{before}error unmarshaling JSON: while decoding JSON: {why}")
    return Body(value, mistakes)


def _read(content: bytes, media_type: str, *, counts: bool) -> Body:
    if media_type == YAML:
        return _yaml(content)
    if media_type != JSON:
        raise media_types.unsupported()
    value = _json(content)
    if _is_deep(value, content.count(b"{") + content.count(b"[")):
        raise _Malformed(_too_deep(content))
    return Body(value, duplicate_fields(content, value) if counts else [])


def _json(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        if fault := go_json.fault(content):
            raise _Malformed(fault) from None
    try:
        # To Go this is JSON: it puts a sign for what is no Unicode.
        read = json.loads(content.decode(errors="replace"))
        return orjson.loads(json.dumps(read, ensure_ascii=False).encode(errors="replace"))
    except RecursionError:
        raise _Malformed(_too_deep(content)) from None
    except ValueError:
        raise _Malformed("json: cannot unmarshal number into Go value of type float64") from None


def _protobuf(content: bytes, group: str, version: str, kind: str) -> Any:
    from fleetqueue.embedded.apiserver.kinds import protobuf

    return protobuf.decode(content, group, version, kind)


def _yaml(content: bytes) -> Body:
    if content.lstrip()[:1] == b"{" and (body := _as_json(content)) is not None:
        return body
    from fleetqueue.embedded.apiserver.http import yaml_documents

    value, mistakes = yaml_documents.load(content)
    if _is_deep(value, MOST_LEVELS + 1):
        raise _Malformed("yaml: exceeded max depth")
    return Body(value, mistakes)


def _as_json(content: bytes) -> Body | None:
    """Read YAML that is JSON, as most programs write it; reading it as YAML takes a hundred times as long."""
    try:
        return _read(content, JSON, counts=True)
    except _Malformed:
        return None


def _is_deep(value: Any, brackets: int) -> bool:
    if brackets <= MOST_LEVELS:
        return False
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for one in level for inner in _inside(one) if type(inner) is dict or type(inner) is list]
        if not level:
            return False
    return True


def _inside(value: Any) -> Any:
    if type(value) is dict:
        return value.values()
    return value if type(value) is list else ()


def _too_deep(content: bytes) -> str:
    bracket = "[" if content.count(b"[") > content.count(b"{") else "{"
    return f"invalid character '{bracket}' exceeded max depth"


def _typed(value: Any, content: bytes | None = None) -> Any:
    """Refuse what has no place for apiVersion and kind, or something else in it; content is given if both must be."""
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise _Malformed(f"json: cannot unmarshal {_JSON_KINDS[type(value)]} into {_WHERE} {_TYPE_META}")
    for field in ("apiVersion", "kind"):
        field_value = value.get(field)
        if field_value is not None and not isinstance(field_value, str):
            kind = _JSON_KINDS[type(field_value)]
            raise _Malformed(f"json: cannot unmarshal {kind} into Go struct field .{field} of type string")
    if (value.get("apiVersion") or "").count("/") > 1:
        raise _Untyped(f"unexpected GroupVersion string: {value['apiVersion']}")
    if content is not None and not value.get("kind"):
        raise _Untyped(f"Object 'Kind' is missing in '{content.decode(errors='replace')}'")
    return value if content is None else {"apiVersion": "", **value}


def _unknown(options: dict[str, Any]) -> UnknownKind:
    group, _, version = (options.get("apiVersion") or "v1").rpartition("/")
    try:
        type_of(group, version, options["kind"])
    except UnknownKind as error:
        return error
    # It exists, but not among the options that every version has.
    return UnknownKind(_NO_KIND.format(kind=options["kind"], version=f"{group}/{version}".strip("/")))


def _told(error: Exception) -> str:
    is_json = isinstance(error, _Malformed)
    return f"couldn't get version/kind; json parse error: {error}" if is_json else str(error)


def _beginning(content: bytes) -> str:
    if not content:
        return "<empty>"
    start = content[:SHOWN]
    shown = re.sub("\ufffd+", "\ufffd", start.decode(errors="replace")) if content[:1] == b"{" else start.hex()
    return shown + (" ..." if len(content) > SHOWN else "")


def _refused(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, reason="BadRequest")


def duplicate_fields(content: bytes, value: Any) -> list[str]:
    """Return a warning for every field that stands twice in a JSON text, of which `value` is the reading.

    The last one counts, and the sender should know.
    A field that is lost makes the value shorter when it is written again. Programs write JSON without spaces, so most
    texts come out as long as they were, which proves at a tenth of the cost that nothing was lost.
    """
    if len(orjson.dumps(value)) == len(content.rstrip()):
        return []
    twice = _Duplicates()
    read = json.loads(content.decode(errors="replace"), object_pairs_hook=twice.object)
    return [f'duplicate field "{path}"' for path in twice.paths(read)] if twice.lost else []


class _Duplicates:
    def __init__(self) -> None:
        self.lost: list[tuple[dict[str, Any], list[str]]] = []
        """Each object that lost fields, with their names; kept, so that no other object gets its identity."""

    def object(self, pairs: Pairs) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            names = [name for name, _ in pairs]
            self.lost.append((made, [name for name in made if names.count(name) > 1]))
        return made

    def paths(self, value: Any) -> list[str]:
        """Walk from the top, since an object is read before it is known where it stands."""
        names = {id(made): lost for made, lost in self.lost}
        paths: list[str] = []
        self._walk(value, "", names, paths)
        return paths

    def _walk(self, value: Any, path: str, names: dict[int, list[str]], paths: list[str]) -> None:
        if isinstance(value, dict):
            paths += [f"{path}.{name}".removeprefix(".") for name in names.get(id(value), ())]
            for name, inner in value.items():
                self._walk(inner, f"{path}.{name}", names, paths)
        elif isinstance(value, list):
            for position, inner in enumerate(value):
                self._walk(inner, f"{path}[{position}]", names, paths)

"""YAML that says what JSON can say: one document, read as Go reads it, and written so that Go reads the same.

YAML 1.1 has `yes` and `y` for true; times are plain text; keys become text. A document that would grow without bound
through aliases is refused.
"""

import re
from typing import Any, Final

import yaml

from fleetqueue.embedded.apiserver.http.yaml_error import YamlError

MOST_VALUES: Final = 500_000
"""How many values a document may have with its aliases written out."""
MOST_LEVELS: Final = 500

_TRUE: Final = frozenset("y Y yes Yes YES true True TRUE on On ON".split())
_FALSE: Final = frozenset("n N no No NO false False FALSE off Off OFF".split())
_NULL: Final = frozenset(["", "~", "null", "Null", "NULL"])
_INTEGER: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_JSON: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


_STRING: Final = "tag:yaml.org,2002:str"
_BY_FORM: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "null"))
"""Tags that say: read it as if it had no quotes."""
_MERGE: Final = "<<"


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else '"' if _is_more_than_text(value) else None
    return dumper.represent_scalar(_STRING, value, style=style)


def _is_more_than_text(word: str) -> bool:
    try:
        return type(_plain(word)) is not str
    except YamlError:
        return True


def dump(value: Any) -> bytes:
    written: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, default_flow_style=False, width=10_000)
    return written.encode()


def load(content: bytes) -> tuple[Any, list[str]]:
    """Return the first document, and what stands in it twice; raises YamlError."""
    reader = _Reader()
    try:
        # Events, not nodes: the C library that makes nodes dies of a list in a list in a list.
        for event in yaml.parse(content, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.DocumentEndEvent):
                break
            reader.read(event)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise YamlError(_told(error)) from None
    return reader.document, reader.twice


class _Open:
    """A list or map whose end has not come yet."""

    def __init__(self, event: Any) -> None:
        self.anchor: str | None = event.anchor
        self.is_map = isinstance(event, yaml.MappingStartEvent)
        self.list: list[Any] = []
        self.map: dict[str, Any] = {}
        self.merged: dict[str, Any] = {}
        self.key: str | None = None
        self.size = 1

    @property
    def value(self) -> Any:
        if not self.is_map:
            return self.list
        return {**self.merged, **self.map} if self.merged else self.map

    def add(self, value: Any) -> None:
        if not self.is_map:
            self.list.append(value)
            return
        assert self.key is not None
        if self.key == _MERGE:
            self.merged = _sources(value) | self.merged
        else:
            self.map[self.key] = value
        self.key = None


class _Reader:
    def __init__(self) -> None:
        self.document: Any = None
        self.twice: list[str] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        """The value of each anchor, and of how many values it is made."""

    def read(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            if self._is_key():
                self._name(event)
            else:
                self._add(_scalar(event), 1, event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = self._open.pop()
            self._add(ended.value, ended.size, ended.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._add(*self._aliased(str(event.anchor)))

    def _is_key(self) -> bool:
        return bool(self._open) and self._open[-1].is_map and self._open[-1].key is None

    def _start(self, event: Any) -> None:
        if self._is_key():
            raise YamlError("yaml: invalid map key")
        if len(self._open) == MOST_LEVELS:
            raise YamlError("yaml: exceeded max depth")
        self._open.append(_Open(event))

    def _name(self, event: Any) -> None:
        map_, name = self._open[-1], _key(event)
        if name in map_.map:
            self.twice.append(f'line {event.start_mark.line + 1}: key "{name}" already set in map')
        map_.key = name

    def _add(self, value: Any, size: int, anchor: str | None = None) -> None:
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self.document = value
            return
        around = self._open[-1]
        around.add(value)
        around.size += size
        if around.size > MOST_VALUES:
            raise YamlError("yaml: document contains excessive aliasing")

    def _aliased(self, anchor: str) -> tuple[Any, int]:
        if self._is_key():
            raise YamlError("yaml: invalid map key")
        if any(one.anchor == anchor for one in self._open):
            raise YamlError(f"yaml: anchor '{anchor}' value contains itself")
        if anchor not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{anchor}' referenced")
        return self._anchors[anchor]


def _sources(value: Any) -> dict[str, Any]:
    """Return what a merge takes over: the fields of a map, or of several, of which the first counts."""
    maps = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in maps):
        raise YamlError("yaml: map merge requires map or sequence of maps as the value")
    return {name: item for one in reversed(maps) for name, item in one.items()}


def _scalar(event: Any) -> Any:
    is_plain = event.implicit[0] if event.tag is None else event.tag in _BY_FORM
    return _plain(event.value) if is_plain else event.value


def _key(event: Any) -> str:
    value = _scalar(event)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _plain(text: str) -> Any:
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if not (text[0].isdigit() or text[0] in "+-."):
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if _NOT_JSON.fullmatch(text):
        raise YamlError(f"json: unsupported value: {text}")
    return text


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    is_octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    number = int(digits, 8) if is_octal else int(digits, 0)
    return -number if text[0] == "-" else number


def _told(error: Exception) -> str:
    """Say a parser's error as Go does."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return f"yaml: {error}"
    mark = next((one for one in (error.context_mark, error.problem_mark) if one is not None and one.line), None)
    counted = isinstance(error, yaml.scanner.ScannerError)
    where = f"line {mark.line + counted}: " if mark is not None else ""
    return f"yaml: {where}{error.problem}"


_Dumper.add_representer(str, _text)

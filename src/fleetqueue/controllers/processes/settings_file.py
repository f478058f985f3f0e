"""Read settings from a YAML file and from `key=value` flags; whatever does not fit is an error that names its key."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar, get_args, get_type_hints

import msgspec
import yaml

from fleetqueue.controllers.processes.settings import FROM_ABOVE

S = TypeVar("S")

_WHERE: Final = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<key>.*)`)?$", re.DOTALL)
_WORDS: Final = {
    "`float`": "a number",
    "`int`": "a whole number",
    "`str`": "text",
    "`bool`": "true or false",
    "`object`": "keys and values",
    "`array`": "a list",
    "`null`": "nothing",
}


class SettingsError(Exception):
    """A setting cannot be used; the text names it and says what it may be."""


def load(kind: type[S], path: Path | None = None, overrides: Iterable[str] = ()) -> S:
    """Read settings: defaults, then the file, then each `key.key=value`."""
    given = _read(path) if path else {}
    for override in overrides:
        _put(given, override)
    return parse(kind, given)


def parse(kind: type[S], given: Mapping[str, Any]) -> S:
    """Build settings from plain values."""
    _refuse_unknown(kind, given, "")
    try:
        settings = msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise SettingsError(_explain(kind, str(error))) from error
    _refuse_negative(settings, "")
    return settings


def known_keys(kind: type[Any], *, is_section: bool = False) -> dict[str, Any]:
    """Return the keys that a tree of settings has, with their types."""
    hints = get_type_hints(kind)
    hidden = FROM_ABOVE if is_section else frozenset()
    return {field.name: hints[field.name] for field in fields(kind) if field.name not in hidden}


def _read(path: Path) -> dict[str, Any]:
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot read the settings file {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"the settings file {path} is not YAML: {error}") from error
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise SettingsError(f"the settings file {path} must hold keys and values")
    return given


def _put(given: dict[str, Any], override: str) -> None:
    """Set one value by its dotted key."""
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise SettingsError(f'"{override}" is not of the form key=value, such as placement_admission.drain_timeout=600')
    *sections, key = dotted.split(".")
    for section in sections:
        inner = given.setdefault(section, {})
        if not isinstance(inner, dict):
            raise SettingsError(f'setting "{dotted}": "{section}" is no section')
        given = inner
    try:
        given[key] = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingsError(f'setting "{dotted}": {text!r} is no YAML value') from error


def _refuse_unknown(kind: type[Any], given: Mapping[str, Any], prefix: str) -> None:
    known = known_keys(kind, is_section=bool(prefix))
    for key, value in given.items():
        if key not in known:
            where = f"in {prefix.rstrip('.')}" if prefix else "at the top"
            raise SettingsError(f'unknown setting "{prefix}{key}"{_hint(key, known)}; {where} are {", ".join(known)}')
        if is_dataclass(known[key]) and isinstance(value, Mapping):
            _refuse_unknown(known[key], value, f"{prefix}{key}.")


def _refuse_negative(settings: Any, prefix: str) -> None:
    """No number of ours means anything below zero."""
    for key in known_keys(type(settings)):
        value = getattr(settings, key)
        if is_dataclass(value):
            _refuse_negative(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and value < 0:
            raise SettingsError(f'setting "{prefix}{key}": must not be negative')


def _hint(key: Any, known: Iterable[str]) -> str:
    close = get_close_matches(str(key), list(known), n=1)
    return f', did you mean "{close[0]}"?' if close else ""


def _explain(kind: type[Any], message: str) -> str:
    """Turn msgspec's message, which ends in a path, into a sentence that begins with the key."""
    match = _WHERE.match(message)
    what, key = (match["what"], match["key"] or "") if match else (message, "")
    for word, plain in _WORDS.items():
        what = what.replace(word, plain)
    what = what[:1].lower() + what[1:]
    if allowed := get_args(_type_of(kind, key)) if what.startswith("invalid enum") else ():
        what = f"must be one of {', '.join(allowed)}"
    return f'setting "{key}": {what}' if key else f"settings: {what}"


def _type_of(kind: type[Any], key: str) -> Any:
    for part in key.split("."):
        kind = known_keys(kind)[part]
    return kind


def dump(settings: Any) -> str:
    """Write settings as the YAML file that would give them."""
    return yaml.safe_dump(_shown(settings), sort_keys=False)


def _shown(settings: Any, *, is_section: bool = False) -> dict[str, Any]:
    values = {key: getattr(settings, key) for key in known_keys(type(settings), is_section=is_section)}
    return {
        key: _shown(value, is_section=True) if is_dataclass(value) else _plain(value) for key, value in values.items()
    }


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value

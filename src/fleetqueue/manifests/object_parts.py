"""Copies of plain objects in which one part is another: what a conversion between versions is made of."""

from collections.abc import Callable
from typing import Any

Manifest = dict[str, Any]


def changed(obj: Manifest, part: str, change: Callable[[Any], Any]) -> Manifest:
    """Return an object with one part changed; itself where it has none, or nothing changes."""
    before = obj.get(part)
    after = change(before) if before else before
    return obj if after is before else {**obj, part: after}


def renamed(obj: Manifest, before: str, after: str) -> Manifest:
    """Return an object with one part under another name."""
    return {after if name == before else name: value for name, value in obj.items()} if before in obj else obj


def without(obj: Manifest, *names: str) -> Manifest:
    return {name: value for name, value in obj.items() if name not in names}


def only(obj: Manifest, *names: str) -> Manifest:
    return {name: obj[name] for name in names if name in obj}

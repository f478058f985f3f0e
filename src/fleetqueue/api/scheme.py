"""Where a kind lives: its group, version, plural and paths."""

import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

Manifest = dict[str, Any]
"""An object as plain JSON: what is sent, and what is stored."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9.:-]*")
"""What names are nearly always made of, and paths can have as it is."""


@dataclass(frozen=True, slots=True)
class Resource:
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    api_version: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, or of one object or a part of it."""
        parts = ["/apis" if self.group else "/api", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", _quoted(namespace)]
        parts.append(self.plural)
        if name:
            parts.append(_quoted(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name, safe=":")

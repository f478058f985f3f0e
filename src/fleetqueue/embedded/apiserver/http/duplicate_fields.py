"""Fields that stand twice in a JSON object: the last one counts, and the sender should know."""

import json
from typing import Any

import orjson

Pairs = list[tuple[str, Any]]


def found(content: bytes, value: Any) -> list[str]:
    """Return what is to be said of every field that stands twice in a text, of which `value` is the reading.

    A field that is lost makes the value shorter when it is written again. Programs write JSON without spaces, so most
    texts come out as long as they were, which proves at a tenth of the cost that nothing was lost.
    """
    if len(orjson.dumps(value)) == len(content.rstrip()):
        return []
    twice = _Twice()
    read = json.loads(content.decode(errors="replace"), object_pairs_hook=twice.object)
    return [f'duplicate field "{path}"' for path in twice.paths(read)] if twice.lost else []


class _Twice:
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

"""Compare what a scenario ended in on our side with what the real part made of it, and say where they differ."""

from collections.abc import Iterator
from typing import Any

from tests.conformance.api_cases.comparing import differing, is_at

from .world import Described


def differences(described: Described, ours: Any, real: Any) -> list[str]:
    """Name every place where the ends differ and the scenario does not say so, or do not and it does."""
    return list(_differences(places(described), ours, real))


def places(described: Described) -> list[list[str]]:
    """Return where a scenario is known to end otherwise on our side, part by part."""
    return [place.split(".") for place in described.get("differs", {}).get("at", ())]


def _differences(known: list[list[str]], ours: Any, real: Any) -> Iterator[str]:
    found = list(differing(ours, real))
    for path, text in found:
        if not any(is_at(path, place) for place in known):
            yield f"{'.'.join(path)}: {text}"
    for place in known:
        if not any(is_at(path, place) for path, _ in found):
            yield f"{'.'.join(place)}: differs no more"

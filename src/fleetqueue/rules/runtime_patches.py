"""What a TrainJob changes in the template of its runtime, each manager in a patch of its own.

A patch is merged as Kubernetes merges: maps member by member, and of the lists below the items with the same key; any
other value takes the place of what was there. Kueue writes where pods shall run into such a patch.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.fields import value_at
from fleetqueue.api.scheme import Manifest

KUEUE: Final = "kueue.x-k8s.io/manager"
"""By this name Kueue's patch is known."""
_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
}


def patched(part: Manifest, templates: Iterable[Manifest]) -> Manifest:
    """Return a part of a JobSet with what the patches of its template say of it."""
    for template in templates:
        for patch in value_at(template, ("spec", "replicatedJobs")) or ():
            if patch["name"] == part["name"] and patch.get("template"):
                part = {**part, "template": _merged(part.get("template") or {}, patch["template"])}
    return part


def by_key(key: str, items: Sequence[Any], more: Sequence[Any], together: Callable[[Any, Any], Any]) -> list[Any]:
    """Bring further items into a list; of two with the same key `together` makes one, in the old one's place."""
    result = list(items)
    for item in more:
        place = next((i for i, known in enumerate(result) if known.get(key) == item.get(key)), None)
        if place is None:
            result.append(item)
        else:
            result[place] = together(result[place], item)
    return result


def _merged(live: Manifest, patch: Manifest) -> Manifest:
    result = dict(live)
    for field, value in patch.items():
        have = live.get(field)
        if value is None:
            result.pop(field, None)
        elif isinstance(value, dict) and isinstance(have, dict):
            result[field] = _merged(have, value)
        elif isinstance(value, list) and isinstance(have, list) and field in _KEYS:
            result[field] = by_key(_KEYS[field], have, value, _merged)
        else:
            result[field] = value
    return result

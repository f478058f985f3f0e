"""What Kueue refuses in the annotations with which a pod template asks for a topology.

Mirrors: Kueue pkg/controller/jobframework/tas_validation.go
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from fleetqueue.api import topology_names as names
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.topology_requests import LAYER_COUNT, UnreadableRequest, integer, slice_layers
from fleetqueue.embedded.kueue.webhooks.field_errors import (
    duplicate,
    forbidden,
    invalid,
    invalid_whole,
    required,
    unqualified,
)

Annotations = Mapping[str, str]
PLACES: Final = (names.REQUIRED, names.PREFERRED, names.UNCONSTRAINED)
LARGEST_NUMBER: Final = 2**64 - 1
_SIZE_TOO_SMALL: Final = "must be greater than or equal to 1"
_NOT_NUMERIC: Final = "must be a numeric value"


def annotations_of(template: Manifest) -> Annotations:
    annotations: Annotations = (template.get("metadata") or {}).get("annotations") or {}
    return annotations


def request_faults(path: str, annotations: Annotations) -> Iterable[str]:
    """Find what is wrong with one template; `path` is that of its annotations."""
    if sum(name in annotations for name in PLACES) > 1:
        listed = ", ".join(f'"{name}"' for name in PLACES)
        yield invalid_whole(path, f"must not contain more than one topology annotation: [{listed}]")
    for name in (names.REQUIRED, names.PREFERRED, names.SLICE_REQUIRED):
        for why in unqualified(annotations[name]) if name in annotations else ():
            yield invalid(f"{path}[{name}]", annotations[name], why)
    yield from _of_group_name(path, annotations)
    text = annotations.get(names.UNCONSTRAINED)
    if text is not None and text not in names.BOOLEANS:
        yield invalid(f"{path}[{names.UNCONSTRAINED}]", text, "must be a boolean value")
    yield from _of_slices(path, annotations)
    yield from _of_layers(path, annotations)


def _of_group_name(path: str, annotations: Annotations) -> Iterable[str]:
    name, where = annotations.get(names.GROUP_NAME), f"{path}[{names.GROUP_NAME}]"
    if name is None:
        return
    if name.isascii() and name.isdigit() and int(name) <= LARGEST_NUMBER:
        yield invalid(where, name, "must not be a number")
    for other in (names.SLICE_SIZE, names.SLICE_REQUIRED):
        if other in annotations:
            yield forbidden(where, f"may not be set when '{other}' is specified")
    if names.PREFERRED not in annotations and names.REQUIRED not in annotations:
        either = f"neither '{names.PREFERRED}' nor '{names.REQUIRED}'"
        yield forbidden(where, f"may not be set when {either} is specified")


def _of_slices(path: str, annotations: Annotations) -> Iterable[str]:
    size, where = annotations.get(names.SLICE_SIZE), f"{path}[{names.SLICE_SIZE}]"
    has_level = names.SLICE_REQUIRED in annotations
    if size is not None:
        number = integer(size)
        if number is None or number < 1:
            yield invalid(where, size, _NOT_NUMERIC if number is None else _SIZE_TOO_SMALL)
    if has_level and size is None:
        yield required(where, f"must be set when '{names.SLICE_REQUIRED}' is specified")
    if not has_level and size is not None:
        yield forbidden(where, f"may not be set when '{names.SLICE_REQUIRED}' is not specified")


def _of_layers(path: str, annotations: Annotations) -> Iterable[str]:
    text, where = annotations.get(names.SLICE_CONSTRAINTS), f"{path}[{names.SLICE_CONSTRAINTS}]"
    if text is None:
        return
    for other in (names.SLICE_REQUIRED, names.SLICE_SIZE):
        if other in annotations:
            yield forbidden(where, f"may not be set when '{other}' is specified")
    if names.GROUP_NAME in annotations:
        yield forbidden(f"{path}[{names.GROUP_NAME}]", f"may not be set when '{names.SLICE_CONSTRAINTS}' is specified")
    try:
        layers = slice_layers(text)
    except UnreadableRequest as error:
        yield invalid(where, text, f"must be a valid JSON array: {error}")
        return
    if not 1 <= len(layers) <= names.MOST_LAYERS:
        yield invalid(where, text, LAYER_COUNT)
        return
    yield from _of_each_layer(where, layers)


def _of_each_layer(path: str, layers: Sequence[Manifest]) -> Iterable[str]:
    for place, layer in enumerate(layers):
        for why in unqualified(layer["topology"]):
            yield invalid(f"{path}[{place}].topology", layer["topology"], why)
        if layer["size"] < 1:
            yield invalid(f"{path}[{place}].size", layer["size"], _SIZE_TOO_SMALL)
    levels = [layer["topology"] for layer in layers]
    for place, level in enumerate(levels):
        if (first := levels.index(level)) < place:
            yield duplicate(f"{path}[{place}].topology", f"{level} (also at index {first})")
    sizes = [layer["size"] for layer in layers]
    for place, (above, size) in enumerate(pairwise(sizes), start=1):
        if size > 0 and above % size:
            yield invalid(f"{path}[{place}].size", size, f"must evenly divide the parent layer size {above}")


def slice_faults(path: str, annotations: Annotations, count: int) -> Iterable[str]:
    """Find slices that are larger than the set of pods that is cut into them."""
    why = f"must not be greater than pod set count {count}"
    size, where = annotations.get(names.SLICE_SIZE), f"{path}[{names.SLICE_SIZE}]"
    if size is not None:
        number = integer(size)
        if number is None:
            yield invalid(where, size, _NOT_NUMERIC)
            return
        if number > count:
            yield invalid(where, size, why)
    try:
        layers = slice_layers(annotations.get(names.SLICE_CONSTRAINTS, "[]"))
    except UnreadableRequest:
        return
    if layers and layers[0]["size"] > count:
        yield invalid(f"{path}[{names.SLICE_CONSTRAINTS}]", layers[0]["size"], why)


def group_faults(pod_sets: Iterable[Manifest], paths: Mapping[str, str]) -> Iterable[str]:
    """Find pod sets that cannot be placed together; `paths` are those of their annotations, by their names."""
    groups: dict[str, list[Manifest]] = {}
    for pod_set in pod_sets:
        name = (pod_set.get("topologyRequest") or {}).get("podSetGroupName")
        if name is not None:
            groups.setdefault(name, []).append(pod_set)
    for name, members in groups.items():
        yield from _of_group(name, members, [paths.get(member["name"], "") for member in members])


def _of_group(name: str, members: Sequence[Manifest], paths: Sequence[str]) -> Iterable[str]:
    wheres = [f"{path}[{names.GROUP_NAME}]" for path in paths]
    if len(members) != 2:
        why = f"can only define groups of exactly 2 pod sets, got: {len(members)} pod set(s)"
        yield from (invalid(where, name, why) for where in wheres)
        return
    counts = [member["count"] for member in members]
    if 1 not in counts:
        got = f"got: {counts[0]} replica(s) and {counts[1]} replica(s) in the group"
        why = f"can only define groups where at least one pod set has only 1 replica, {got}"
        yield from (invalid(where, name, why) for where in wheres)
    places = [
        (member["topologyRequest"].get("required"), member["topologyRequest"].get("preferred")) for member in members
    ]
    if places[0] != places[1]:
        either = f"must specify '{names.REQUIRED}' or '{names.PREFERRED}' topology"
        for path, other in zip(paths, reversed(paths), strict=True):
            yield invalid_whole(path, f"{either} consistent with '{other}' in group '{name}'")

"""What the annotations of a pod template say of where its pods are to run, as a pod set's topology request.

Mirrors: Kueue pkg/controller/jobframework/tas.go
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from fleetqueue.api import go_json
from fleetqueue.api import topology_names as names
from fleetqueue.api.scheme import Manifest

MOST_INTEGER: Final = 2**31
LAYER_COUNT: Final = f"topology constraints must contain between 1 and {names.MOST_LAYERS} entries"
_TYPE: Final = "PodsetSliceRequiredTopologyConstraint"


class UnreadableRequest(Exception):
    """The annotations of a pod template cannot be read; the text says why, in Go's words."""


def topology_request(annotations: Mapping[str, str], **groups: Any) -> Manifest:
    """Return what a pod set asks for; empty where that is nothing. `groups`: how its pods are numbered and grouped.

    Raises UnreadableRequest.
    """
    request = {**_place(annotations), **_slices(annotations), **groups}
    if names.GROUP_NAME in annotations and (names.REQUIRED in annotations or names.PREFERRED in annotations):
        request["podSetGroupName"] = annotations[names.GROUP_NAME]
    return request


def _place(annotations: Mapping[str, str]) -> Manifest:
    if names.REQUIRED in annotations:
        return {"required": annotations[names.REQUIRED]}
    if names.PREFERRED in annotations:
        return {"preferred": annotations[names.PREFERRED]}
    text = annotations.get(names.UNCONSTRAINED)
    if text is None:
        return {}
    if text not in names.BOOLEANS:
        raise UnreadableRequest(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return {"unconstrained": names.BOOLEANS[text]}


def _slices(annotations: Mapping[str, str]) -> Manifest:
    text = annotations.get(names.SLICE_CONSTRAINTS)
    if text is not None:
        return {"podsetSliceRequiredTopologyConstraints": _layers(text)}
    required, size = annotations.get(names.SLICE_REQUIRED), annotations.get(names.SLICE_SIZE)
    if required is None or size is None:
        return {}
    number = integer(size)
    if number is None:
        why = "invalid syntax" if not _is_decimal(size) else "value out of range"
        raise UnreadableRequest(f'strconv.ParseInt: parsing "{size}": {why}')
    return {"podSetSliceRequiredTopology": required, "podSetSliceSize": number}


def integer(text: str) -> int | None:
    """Read a whole number of 32 bits as Go does; None where it is none."""
    number = int(text) if _is_decimal(text) else None
    return number if number is not None and -MOST_INTEGER <= number < MOST_INTEGER else None


def _is_decimal(text: str) -> bool:
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit()


def _layers(text: str) -> list[Manifest]:
    try:
        layers = slice_layers(text)
    except UnreadableRequest as error:
        raise UnreadableRequest(f"failed to parse multi-layer topology constraints annotation: {error}") from None
    if not 1 <= len(layers) <= names.MOST_LAYERS:
        raise UnreadableRequest(f"{LAYER_COUNT}: got {len(layers)}")
    return layers


def slice_layers(text: str) -> list[Manifest]:
    """Read the layers of slices; raises UnreadableRequest."""
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise UnreadableRequest(go_json.fault(text.encode())) from None
    if read is None:
        return []
    if not isinstance(read, list):
        raise UnreadableRequest(f"json: cannot unmarshal {_go_type(read)} into Go value of type []v1beta2.{_TYPE}")
    return [_layer(layer) for layer in read]


def _layer(layer: Any) -> Manifest:
    if layer is None:
        return {"topology": "", "size": 0}
    if not isinstance(layer, dict):
        raise UnreadableRequest(f"json: cannot unmarshal {_go_type(layer)} into Go value of type v1beta2.{_TYPE}")
    fields = {name.lower(): value for name, value in layer.items() if value is not None}  # Go reads names of any case
    topology, size = fields.get("topology", ""), fields.get("size", 0)
    if not isinstance(topology, str):
        raise UnreadableRequest(_wrong_field(topology, "topology", "string"))
    if not isinstance(size, int) or isinstance(size, bool) or not -MOST_INTEGER <= size < MOST_INTEGER:
        raise UnreadableRequest(_wrong_field(size, "size", "int32"))
    return {"topology": topology, "size": size}


def _wrong_field(value: Any, field: str, wanted: str) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = f" {orjson.dumps(value).decode()}" if is_number and wanted != "string" else ""
    return f"json: cannot unmarshal {_go_type(value)}{number} into Go struct field {_TYPE}.{field} of type {wanted}"


def _go_type(value: Any) -> str:
    names_of_types = ((bool, "bool"), (str, "string"), (dict, "object"), (list, "array"))
    return next((name for kind, name in names_of_types if isinstance(value, kind)), "number")

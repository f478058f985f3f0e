"""The custom kinds of Kueue, OCM and their neighbours: the CustomResourceDefinitions that an embedded cluster serves.

They hold every field, rule and column that upstream's hold, and no descriptions. The file is written by
`tools/generate_custom_kinds.py`: `systems` maps each system to its definitions, and a subtree that occurs more than
once stands once in `parts` and is referred to by its place there. What was read is shared by all who ask: nobody may
change it.
"""

import zlib
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

Manifest = dict[str, Any]

_FILE: Final = Path(__file__).with_name("custom_kinds.json.z")
_REFERENCE: Final = "$ref"

SYSTEMS: Final = (
    "kueue",
    "jobset",
    "leaderworkerset",
    "kuberay",
    "mpi-operator",
    "training-operator",
    "trainer",
    "spark-operator",
    "appwrapper",
    "ocm-hub",
    "ocm-agent",
    "ocm-operator",
    "managed-serviceaccount",
    "cluster-permission",
    "cluster-inventory",
    "about",
)
"""What is installed together: `ocm-hub` on the hub, `ocm-agent` and `about` where an agent runs."""


def crds(system: str) -> list[Manifest]:
    """Return the definitions of a system, in the order of their names.

    They are also fit for a real cluster, but there the versions are not converted into each other: the conversion is
    done in process, by who serves them.
    """
    return list(_definitions(system))


@cache
def _definitions(system: str) -> tuple[Manifest, ...]:
    table = _table()
    if system not in table["systems"]:
        raise KeyError(f'there are no custom kinds of "{system}"; there are those of {", ".join(SYSTEMS)}')
    return tuple(_definition(_whole(entry)) for entry in table["systems"][system])


def _definition(crd: Manifest) -> Manifest:
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, **crd, "spec": {**crd["spec"], "conversion": {"strategy": "None"}}}


def _whole(node: Any) -> Any:
    """Return a subtree with the parts in place of what refers to them."""
    if isinstance(node, dict):
        place = node.get(_REFERENCE)
        return _part(place) if place is not None else {key: _whole(value) for key, value in node.items()}
    return [_whole(value) for value in node] if isinstance(node, list) else node


@cache
def _part(place: int) -> Any:
    return _whole(_table()["parts"][place])


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = orjson.loads(zlib.decompress(_FILE.read_bytes()))
    return table

"""Objects of custom kinds, made up from their schemas: every field may be there, with values that the schema allows."""

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from fleetqueue.manifests.custom_kinds import crds

NAMES = st.sampled_from(["a", "b", "main", "pool-a-1", "pool-a-2", "pool-b-1"])
"""Fit every pattern of names and labels."""
QUANTITIES = st.sampled_from(["1", "500m", "2Gi", "0"])
TIMES = st.just("2026-01-02T03:04:05Z")
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
"""Stands for all pod templates, which no conversion looks into."""
NODES = st.builds("{}-{}-{}".format, st.sampled_from("ab"), st.sampled_from(["x", "node"]), st.integers(0, 12)) | NAMES
MOST_ITEMS = 3


def versions(system: str, kind: str) -> dict[str, Any]:
    """Return the schemas of a kind, by version."""
    crd = next(crd for crd in crds(system) if crd["spec"]["names"]["kind"] == kind)
    return {version["name"]: version["schema"]["openAPIV3Schema"] for version in crd["spec"]["versions"]}


def objects(system: str, kind: str, version: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for whole objects of a kind in one version."""
    crd = next(crd for crd in crds(system) if crd["spec"]["names"]["kind"] == kind)
    about = {"apiVersion": f"{crd['spec']['group']}/{version}", "kind": kind, "metadata": {"name": "x"}}
    openapi = versions(system, kind)[version]
    parts = {name: child for name, child in openapi["properties"].items() if name not in about}
    return values({"type": "object", "properties": parts}).map(lambda body: {**about, **body})


def with_one_field_less(obj: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what is left of an object when any one of its fields is taken away, outside of lists."""
    for name, value in obj.items():
        if name not in ("apiVersion", "kind", "metadata"):
            yield {other: kept for other, kept in obj.items() if other != name}
            if isinstance(value, dict):
                yield from ({**obj, name: less} for less in with_one_field_less(value))


def values(openapi: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for the values that one node of a schema allows."""
    if "enum" in openapi:
        return st.sampled_from([value for value in openapi["enum"] if value != ""])
    if openapi.get("x-kubernetes-int-or-string"):
        return QUANTITIES
    if openapi.get("type") == "object":
        return _objects(openapi)
    if openapi.get("type") == "array":
        return _lists(openapi)
    if openapi.get("type") in ("integer", "number"):
        return st.integers(max(1, openapi.get("minimum", 1)), min(9, openapi.get("maximum", 9)))
    if openapi.get("type") == "boolean":
        return st.booleans()
    return TIMES if openapi.get("format") == "date-time" else NAMES


def _objects(openapi: dict[str, Any]) -> st.SearchStrategy[Any]:
    if isinstance(openapi.get("additionalProperties"), dict):
        return st.dictionaries(NAMES, values(openapi["additionalProperties"]), max_size=2)
    fields = {name: _field(name, child) for name, child in (openapi.get("properties") or {}).items()}
    required = {name: fields.pop(name) for name in openapi.get("required") or () if name in fields}
    return st.fixed_dictionaries(required, optional=fields)


def _field(name: str, openapi: dict[str, Any]) -> st.SearchStrategy[Any]:
    if name == "template":
        return st.just(TEMPLATE)
    if name == "minSuccessTime":
        return st.just("1m0s")
    if name == "topologyAssignment":
        return assignments() if "domains" in openapi["properties"] else sliced_assignments()
    return values(openapi)


LEVELS = (["kubernetes.io/hostname"], ["block", "kubernetes.io/hostname"], ["block", "rack"])


@st.composite
def assignments(draw: st.DrawFn) -> dict[str, Any]:
    """Domains of a v1beta1 assignment: each has a value for every level, as the schema cannot say."""
    levels = draw(st.sampled_from(LEVELS))
    value = st.lists(NODES, min_size=len(levels), max_size=len(levels))
    domain = st.fixed_dictionaries({"values": value, "count": st.integers(1, 3)})
    return {"levels": levels, "domains": draw(st.lists(domain, max_size=12))}


@st.composite
def sliced_assignments(draw: st.DrawFn) -> dict[str, Any]:
    """Slices of a v1beta2 assignment: each has a value for every level of every domain."""
    levels = draw(st.sampled_from(LEVELS))
    return {"levels": levels, "slices": [draw(_slices(len(levels))) for _ in range(draw(st.integers(1, 3)))]}


@st.composite
def _slices(draw: st.DrawFn, levels: int) -> dict[str, Any]:
    size = draw(st.integers(1, 4))
    roots = st.fixed_dictionaries(
        {"roots": st.lists(NODES, min_size=size, max_size=size)}, optional={"prefix": NAMES, "suffix": NAMES}
    )
    level = NODES.map(lambda name: {"universal": name}) | roots.map(lambda found: {"individual": found})
    each = st.lists(st.integers(1, 3), min_size=size, max_size=size)
    pods = st.integers(1, 3).map(lambda count: {"universal": count}) | each.map(lambda found: {"individual": found})
    return {"domainCount": size, "valuesPerLevel": [draw(level) for _ in range(levels)], "podCounts": draw(pods)}


def _lists(openapi: dict[str, Any]) -> st.SearchStrategy[Any]:
    least = openapi.get("minItems", 0)
    most = min(openapi.get("maxItems", MOST_ITEMS), max(least, MOST_ITEMS))
    keys = openapi.get("x-kubernetes-list-map-keys")
    if keys:
        return st.lists(
            values(openapi["items"]),
            min_size=least,
            max_size=most,
            unique_by=lambda item: tuple(item.get(key) for key in keys),
        )
    return st.lists(values(openapi["items"]), min_size=least, max_size=most)

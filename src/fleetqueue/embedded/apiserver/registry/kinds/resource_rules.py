"""The rules for amounts of resources: what containers may request, and what can be limited."""

from collections.abc import Mapping
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import invalid_value, required
from fleetqueue.embedded.apiserver.kinds.names import qualified_name
from fleetqueue.embedded.apiserver.registry.kinds.checks import NEGATIVE, Faults, amount

OF_CONTAINERS: Final = ("cpu", "memory", "ephemeral-storage")
COUNTED: Final = (
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)
STANDARD: Final = frozenset(
    {
        *OF_CONTAINERS,
        *COUNTED,
        *(f"{part}.{name}" for part in ("requests", "limits") for name in OF_CONTAINERS),
        *("storage", "requests.storage"),
    }
)


def resource_faults(resources: Manifest, field: str) -> Faults:
    """Return what is wrong with the limits and requests of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, value in limits.items():
        yield from _container_resource_faults(name, value, f"{field}.limits[{name}]")
    for name, value in requests.items():
        yield from _container_resource_faults(name, value, f"{field}.requests[{name}]")
        yield from _request_faults(name, value, limits, field)


def _container_resource_faults(name: str, value: str, field: str) -> Faults:
    if name not in OF_CONTAINERS:
        yield from resource_name_faults(name, field)
        if "/" not in name and not _is_huge_page(name):
            yield invalid_value(field, name, "must be a standard resource for containers")
    yield from quantity_faults(name, value, field)


def resource_name_faults(name: str, field: str) -> Faults:
    problems = qualified_name(name)
    yield from (invalid_value(field, name, why) for why in problems)
    if not problems and "/" not in name and name not in STANDARD and not _is_huge_page(name):
        yield invalid_value(field, name, "must be a standard resource type or fully qualified")


def _request_faults(name: str, value: str, limits: Mapping[str, str], field: str) -> Faults:
    limit = limits.get(name)
    if limit is None:
        if not may_be_overcommitted(name):
            yield required(f"{field}.limits", "Limit must be set for non overcommitable resources")
    elif limit == value:
        return
    elif amount(value) != amount(limit) and not may_be_overcommitted(name):
        yield invalid_value(f"{field}.requests", value, f"must be equal to {name} limit of {limit}")
    elif amount(value) > amount(limit):
        yield invalid_value(f"{field}.requests", value, f"must be less than or equal to {name} limit of {limit}")


def quantity_faults(name: str, value: str, field: str) -> Faults:
    if value.startswith("-") and amount(value) < 0:
        yield invalid_value(field, value, NEGATIVE)
    if _is_whole(name) and amount(value) % 1:
        yield invalid_value(field, value, "must be an integer")


def may_be_overcommitted(name: str) -> bool:
    """Tell native resources, of which more may be promised than is there, from all others."""
    return ("/" not in name or "kubernetes.io/" in name) and not _is_huge_page(name)


def _is_whole(name: str) -> bool:
    return name in COUNTED or ("/" in name and "kubernetes.io/" not in name and not name.startswith("requests."))


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")

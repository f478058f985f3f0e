"""Nodes: who creates one says its status at once, and its addresses are given once."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, duplicate, forbidden, invalid_value, not_supported
from fleetqueue.embedded.apiserver.kinds.names import label_value, qualified_name
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import within
from fleetqueue.embedded.apiserver.registry.kinds.pod_rules import EFFECTS
from fleetqueue.embedded.apiserver.registry.kinds.resource_rules import quantity_faults
from fleetqueue.embedded.apiserver.registry.strategy import StatusStrategy, Strategy


def default(node: Manifest) -> Manifest:
    return within(node, "status", _status)


def _status(status: Manifest) -> Manifest:
    if status.get("capacity") and "allocatable" not in status:
        return {**status, "allocatable": status["capacity"]}
    return status


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec, before = new.get("spec") or {}, (old or {}).get("spec") or {}
    problems = [*_taint_faults(spec.get("taints") or ()), *_amount_faults(new)]
    if old is None:
        return problems
    for name, shown in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(name) and spec.get(name) != before[name]:
            problems.append(forbidden(f"spec.{name}", f'node updates may not change {shown} except from "" to valid'))
    return problems


def status_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    return list(_amount_faults(new))


def _amount_faults(node: Manifest) -> Faults:
    status = node.get("status") or {}
    for part in ("capacity", "allocatable"):
        for name, value in (status.get(part) or {}).items():
            yield from quantity_faults(name, value, f"status.{part}.{name}")


def _taint_faults(taints: Sequence[Manifest]) -> Faults:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        field, key, effect = f"metadata.taints[{position}]", taint.get("key", ""), taint.get("effect", "")
        yield from (invalid_value(f"{field}.key", key, why) for why in qualified_name(key))
        problems = label_value(taint.get("value", ""))
        if problems:
            yield invalid_value(f"{field}.value", taint["value"], ";".join(problems))
        if effect not in EFFECTS:
            yield not_supported(f"{field}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            yield duplicate(field, taint)
        seen.add((key, effect))


STRATEGY: Final = Strategy(default=default, faults=faults, status=StatusStrategy(status_faults, is_created=True))

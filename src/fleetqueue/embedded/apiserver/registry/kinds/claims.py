"""PersistentVolumeClaims and StorageClasses: kept and checked, though nothing here provisions."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, not_supported, required
from fleetqueue.embedded.apiserver.kinds.names import subdomain
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import filled, with_field_of, within
from fleetqueue.embedded.apiserver.registry.strategy import StatusStrategy, Strategy

ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
)


def default(claim: Manifest) -> Manifest:
    after = within(claim, "spec", lambda spec: filled(spec, {"volumeMode": "Filesystem"}))
    return within(after, "status", lambda status: filled(status, {"phase": "Pending"}))


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    spec = new["spec"]
    problems = list(claim_spec_faults(spec, "spec"))
    return problems if old is None else [*problems, *_change_faults(spec, old)]


def _change_faults(spec: Manifest, old: Manifest) -> Faults:
    before, status = old["spec"], old.get("status") or {}
    after = spec
    if not before.get("volumeName"):
        after = with_field_of(after, "volumeName", before)  # given once, by who binds it
    if "storageClassName" not in before:
        after = with_field_of(after, "storageClassName", before)
    if status.get("phase") == "Bound":
        after = with_field_of(after, "volumeAttributesClassName", before)
        after = within(after, "resources", lambda resources: with_field_of(resources, "requests", before["resources"]))
    if after != before:
        yield forbidden("spec", FIXED)
    new_size, old_size = _storage(spec), _storage(before)
    if new_size < old_size and new_size <= checks.amount((status.get("capacity") or {}).get("storage", "0")):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    if spec.get("volumeMode") != before.get("volumeMode"):
        yield invalid_value("volumeMode", spec.get("volumeMode"), checks.IMMUTABLE)


def _storage(spec: Manifest) -> Decimal:
    return checks.amount(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))


def claim_spec_faults(spec: Manifest, field: str) -> Faults:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{field}.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(f"{field}.accessModes", mode, ACCESS_MODES)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if storage is None:
        yield required(f"{field}.resources[storage]")
    elif checks.amount(storage) <= 0:
        yield invalid_value(f"{field}.resources[storage]", storage, "must be greater than zero")
    yield from checks.one_of(spec, "volumeMode", field, ("Block", "Filesystem"))
    yield from checks.named(spec, "storageClassName", field, subdomain)
    if "selector" in spec:
        yield from checks.selector_faults(spec["selector"], f"{field}.selector")


def default_class(storage_class: Manifest) -> Manifest:
    return filled(storage_class, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def class_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    problems: list[Cause] = []
    if old is not None:
        problems += checks.unchanged(new, old, "", "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    if not new.get("provisioner"):
        problems.append(required("provisioner"))
    if new.get("reclaimPolicy") not in ("Delete", "Retain"):
        problems.append(not_supported("reclaimPolicy", new.get("reclaimPolicy"), ("Delete", "Retain")))
    modes = ("Immediate", "WaitForFirstConsumer")
    if new.get("volumeBindingMode") not in modes:
        problems.append(not_supported("volumeBindingMode", new.get("volumeBindingMode"), modes))
    return problems


CLAIMS: Final = Strategy(default=default, faults=faults, status=StatusStrategy(initial={"phase": "Pending"}))
CLASSES: Final = Strategy(default=default_class, faults=class_faults)

"""OCM's kinds in their other versions: what moves from one field to another.

The add-on kinds are stored as v1alpha1 and shown as v1beta1 too, as by OCM's own webhook. The older versions of
placements and cluster sets are ours alone: upstream has dropped them, and people still have YAML of them.

Mirrors: api/addon/v1beta1/conversion.go, ocm/pkg/addon/webhook/v1beta1
"""

from collections.abc import Callable, Mapping
from typing import Final

from fleetqueue.manifests.object_parts import Manifest, changed, only, renamed, without

CLUSTER: Final = "cluster.open-cluster-management.io"
ADDON: Final = "addon.open-cluster-management.io"
INSTALL_NAMESPACE: Final = "addon.open-cluster-management.io/v1alpha1-install-namespace"
"""The annotation in which v1beta1 keeps what v1alpha1 has a field for."""
NO_DEFAULT: Final = "__reserved_no_default__"
"""The name of a configuration that an add-on supports and has no default of; no object can have it."""
KUBE_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
LEGACY, EXCLUSIVE = "LegacyClusterSetLabel", "ExclusiveClusterSetLabel"
"""The same way to put a cluster into one set, in v1beta1 and since."""

Change = Callable[[Manifest], Manifest]


def to_version(changes: Mapping[str, Change]) -> Callable[[Manifest, str], Manifest]:
    """Return a converter from what brings an object into each version from the one other."""
    return lambda obj, version: changes[version](obj)


def as_it_is(obj: Manifest) -> Manifest:
    return obj


# Placement and ManagedClusterSet


def newer_placement(placement: Manifest) -> Manifest:
    """Say a prioritizer that is only named by its coordinate."""
    return _with_prioritizers(placement, _coordinate)


def _with_prioritizers(placement: Manifest, change: Change) -> Manifest:
    def each(configurations: list[Manifest]) -> list[Manifest]:
        return list(map(change, configurations))

    return changed(
        placement,
        "spec",
        lambda spec: changed(spec, "prioritizerPolicy", lambda policy: changed(policy, "configurations", each)),
    )


def _coordinate(prioritizer: Manifest) -> Manifest:
    name = prioritizer.get("name")
    coordinate = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}} if name else {}
    return {**coordinate, **without(prioritizer, "name")}


def newer_set(cluster_set: Manifest) -> Manifest:
    return _with_selector_type(cluster_set, LEGACY, EXCLUSIVE)


def older_set(cluster_set: Manifest) -> Manifest:
    return _with_selector_type(cluster_set, EXCLUSIVE, LEGACY)


def _with_selector_type(cluster_set: Manifest, before: str, after: str) -> Manifest:
    def selector(cluster_selector: Manifest) -> Manifest:
        return changed(cluster_selector, "selectorType", lambda kind: after if kind == before else kind)

    return changed(cluster_set, "spec", lambda spec: changed(spec, "clusterSelector", selector))


# ClusterManagementAddOn


def newer_add_on(add_on: Manifest) -> Manifest:
    add_on = changed(add_on, "spec", lambda spec: _with_configs(spec, "supportedConfigs", "defaultConfigs", _default))
    return changed(
        add_on, "status", lambda status: renamed(status, "defaultconfigReferences", "defaultConfigReferences")
    )


def older_add_on(add_on: Manifest) -> Manifest:
    add_on = changed(add_on, "spec", lambda spec: _with_configs(spec, "defaultConfigs", "supportedConfigs", _supported))
    return changed(
        add_on, "status", lambda status: renamed(status, "defaultConfigReferences", "defaultconfigReferences")
    )


def _with_configs(spec: Manifest, before: str, after: str, change: Change) -> Manifest:
    return renamed(changed(spec, before, lambda configs: list(map(change, configs))), before, after)


def _default(config: Manifest) -> Manifest:
    return only(config, "group", "resource") | (config.get("defaultConfig") or {"name": NO_DEFAULT})


def _supported(config: Manifest) -> Manifest:
    kind, default = only(config, "group", "resource"), only(config, "namespace", "name")
    return kind if default.get("name") in (None, NO_DEFAULT) else {**kind, "defaultConfig": default}


# ManagedClusterAddOn


def newer_cluster_add_on(add_on: Manifest) -> Manifest:
    namespace = (add_on.get("spec") or {}).get("installNamespace")
    after = changed(changed(add_on, "spec", lambda spec: without(spec, "installNamespace")), "status", _newer_status)
    if not namespace:
        return after
    annotations = {**(after["metadata"].get("annotations") or {}), INSTALL_NAMESPACE: namespace}
    return {**after, "metadata": {**after["metadata"], "annotations": annotations}}


def older_cluster_add_on(add_on: Manifest) -> Manifest:
    after = changed(add_on, "status", _older_status)
    annotations = after["metadata"].get("annotations") or {}
    if INSTALL_NAMESPACE not in annotations:
        return after
    spec = {**(after.get("spec") or {}), "installNamespace": annotations[INSTALL_NAMESPACE]}
    return {
        **after,
        "metadata": {**after["metadata"], "annotations": without(annotations, INSTALL_NAMESPACE)},
        "spec": spec,
    }


def _newer_status(status: Manifest) -> Manifest:
    driver = {"driver": status["kubeClientDriver"]} if status.get("kubeClientDriver") else {}

    def registrations(items: list[Manifest]) -> list[Manifest]:
        return [_newer_registration(item, driver) for item in items]

    after = changed(without(status, "kubeClientDriver"), "registrations", registrations)
    return changed(after, "configReferences", lambda items: [without(item, "name", "namespace") for item in items])


def _newer_registration(registration: Manifest, driver: Manifest) -> Manifest:
    subject, signer = registration.get("subject") or {}, registration.get("signerName", "")
    if signer == KUBE_CLIENT_SIGNER:
        return {"type": "kubeClient", "kubeClient": {"subject": only(subject, "user", "groups"), **driver}}
    subject = renamed(subject, "organizationUnit", "organizationUnits")
    return {"type": "customSigner", "customSigner": {"signerName": signer, "subject": subject}}


def _older_status(status: Manifest) -> Manifest:
    registrations = status.get("registrations") or ()
    clients = [
        registration.get("kubeClient") or {}
        for registration in registrations
        if registration.get("type") == "kubeClient"
    ]
    driver = clients[0].get("driver") if clients else ""
    after = changed(status, "registrations", lambda items: list(map(_older_registration, items)))
    after = changed(after, "configReferences", lambda items: list(map(_older_reference, items)))
    return {**after, "kubeClientDriver": driver} if driver else after


def _older_registration(registration: Manifest) -> Manifest:
    if registration.get("type") == "kubeClient":
        subject = (registration.get("kubeClient") or {}).get("subject") or {}
        return {"signerName": KUBE_CLIENT_SIGNER, "subject": subject}
    custom = registration.get("customSigner") or {}
    subject = renamed(custom.get("subject") or {}, "organizationUnits", "organizationUnit")
    return {"signerName": custom.get("signerName", ""), "subject": subject}


def _older_reference(reference: Manifest) -> Manifest:
    """Say what is wanted also where it stood first; that field must be there."""
    return {"name": "", **only(reference.get("desiredConfig") or {}, "name", "namespace"), **reference}


CONVERTERS: Final[Mapping[tuple[str, str], Callable[[Manifest, str], Manifest]]] = {
    (CLUSTER, "Placement"): to_version({"v1beta1": newer_placement, "v1alpha1": as_it_is}),
    (CLUSTER, "ManagedClusterSet"): to_version({"v1beta2": newer_set, "v1beta1": older_set}),
    (ADDON, "ClusterManagementAddOn"): to_version({"v1beta1": newer_add_on, "v1alpha1": older_add_on}),
    (ADDON, "ManagedClusterAddOn"): to_version({"v1beta1": newer_cluster_add_on, "v1alpha1": older_cluster_add_on}),
}
"""The kinds of which something moves; of the others a version is only another name."""

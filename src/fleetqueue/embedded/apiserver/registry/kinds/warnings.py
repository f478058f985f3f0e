"""The warnings for objects of built-in kinds that are allowed but dubious."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.names import label
from fleetqueue.embedded.apiserver.registry.kinds.pod_warnings import claim_warnings, pod_warnings

Warn = Callable[[Manifest, Manifest | None], Sequence[str]]

MANY, VERY_MANY = 10_000, 100_000
TOO_MANY: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might"
    " not be able to track completedIndexes when a big number of indexes fail"
)
SURPRISING: Final = "which can result in surprising behavior; a DNS label is recommended:"
EVERY_REVISION: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def _name(obj: Manifest, used: str) -> list[str]:
    why = label(obj["metadata"].get("name", ""))
    return [f"metadata.name: this is used in {used}, {SURPRISING} [{' '.join(why)}]"] if why else []


def _of_pod(new: Manifest, old: Manifest | None) -> Sequence[str]:
    return [] if old is not None else [*_name(new, "the Pod's hostname"), *pod_warnings(new)]


def _of_template(new: Manifest, old: Manifest | None, *, is_named: bool = True) -> Sequence[str]:
    if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    named = _name(new, "Pod names and hostnames") if old is None and is_named else []
    return [*named, *pod_warnings(new["spec"].get("template") or {}, "spec.template")]


def _of_set(new: Manifest, old: Manifest | None) -> Sequence[str]:
    warnings = list(_of_template(new, old, is_named=False))
    if (new["spec"].get("revisionHistoryLimit") or 0) < 0:
        warnings.append(EVERY_REVISION)
    return warnings


def _of_daemon_set(new: Manifest, old: Manifest | None) -> Sequence[str]:
    is_same = old is not None and new["spec"].get("template") == old["spec"].get("template")
    return [] if is_same else pod_warnings(new["spec"].get("template") or {}, "spec.template")


def _of_job(new: Manifest, old: Manifest | None) -> Sequence[str]:
    if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    named = _name(new, "Pod names and hostnames") if old is None else []
    return [*named, *_job_spec(new["spec"], "spec")]


def _of_cron_job(new: Manifest, old: Manifest | None) -> Sequence[str]:
    warnings = _name(new, "Pod names and hostnames") if old is None else []
    if old is None or new["metadata"].get("generation") != old["metadata"].get("generation"):
        warnings += _job_spec((new["spec"].get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    return warnings


def _job_spec(spec: Manifest, path: str) -> list[str]:
    is_indexed = spec.get("completionMode") == "Indexed"
    is_much = (spec.get("completions") or 0) > VERY_MANY and (spec.get("parallelism") or 0) > MANY
    warnings = [f"{path}: {TOO_MANY}"] if is_indexed and is_much else []
    return [*warnings, *pod_warnings(spec.get("template") or {}, f"{path}.template")]


def _of_service(new: Manifest, old: Manifest | None) -> Sequence[str]:
    spec, warnings = new["spec"], []
    is_headless = spec.get("clusterIP") == "None"
    if is_headless:
        if spec.get("loadBalancerIP"):
            warnings.append("spec.loadBalancerIP is ignored for headless services")
        if spec.get("externalIPs"):
            warnings.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity", "None") != "None":
            warnings.append("spec.SessionAffinity is ignored for headless services")
    elif spec.get("externalIPs") and spec.get("type") != "ExternalName":
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    return warnings


def _of_secret(new: Manifest, old: Manifest | None) -> Sequence[str]:
    if new.get("type") != "kubernetes.io/tls":
        return []
    data = new.get("data") or {}
    for part, called in (("tls.crt", "certificate"), ("tls.key", "key")):
        if b"-----BEGIN " not in base64.b64decode(data.get(part) or ""):
            return [f"tls: failed to find any PEM data in {called} input"]
    return []


def _of_claim(new: Manifest, old: Manifest | None) -> Sequence[str]:
    return list(claim_warnings(new.get("spec") or {}, "spec"))


WARNINGS: Final[Mapping[tuple[str, str], Warn]] = {
    ("", "pods"): _of_pod,
    ("", "persistentvolumeclaims"): _of_claim,
    ("", "replicationcontrollers"): _of_template,
    ("", "secrets"): _of_secret,
    ("", "services"): _of_service,
    ("apps", "daemonsets"): _of_daemon_set,
    ("apps", "deployments"): _of_template,
    ("apps", "replicasets"): _of_template,
    ("apps", "statefulsets"): _of_set,
    ("batch", "cronjobs"): _of_cron_job,
    ("batch", "jobs"): _of_job,
}

"""What a new JobSet gets, as JobSet's own webhook gives it."""

from typing import Any

from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.jobset_v1alpha2 import JobSet
from fleetqueue.api.scheme import Manifest


def hooks() -> list[AdmissionHook]:
    resource = JobSet.resource
    return [
        AdmissionHook(
            name="mjobset.kb.io",
            group=resource.group,
            version=resource.version,
            resources=(resource.plural,),
            operations=("CREATE",),
            call=lambda old, new: completed(new),
            is_mutating=True,
        )
    ]


def completed(job_set: Manifest) -> Manifest:
    """Return a JobSet in which nothing is left open that its controller must know."""
    spec: dict[str, Any] = {
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        **job_set["spec"],
    }
    spec["network"] = {"enableDNSHostnames": True, "publishNotReadyAddresses": True, **(spec.get("network") or {})}
    spec["replicatedJobs"] = [_part(part) for part in spec.get("replicatedJobs") or ()]
    if policy := spec.get("failurePolicy"):
        rules = [{"name": f"failurePolicyRule{i}", **rule} for i, rule in enumerate(policy.get("rules") or ())]
        spec["failurePolicy"] = {**policy, **({"rules": rules} if rules else {})}
    return {**job_set, "spec": spec}


def _part(part: Manifest) -> Manifest:
    template = part["template"]
    job = {"completionMode": "Indexed", **template["spec"]}
    pods = job["template"]
    job["template"] = {**pods, "spec": {"restartPolicy": "OnFailure", **(pods.get("spec") or {})}}
    return {**part, "template": {**template, "spec": job}}

"""The question "may I?", which everybody may ask the API server about themselves."""

from typing import Final

from fleetqueue.api.scheme import Manifest

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def access_review(verb: str, group: str, resource: str, name: str = "") -> Manifest:
    """Ask whether the asker may do something in every namespace, or to the one object of a name.

    A resource may be `jobs` or `jobs/status`.
    """
    plural, _, subresource = resource.partition("/")
    parts = {"verb": verb, "group": group, "resource": plural, "subresource": subresource, "name": name}
    attributes = {part: value for part, value in parts.items() if value or part == "group"}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def is_allowed(answer: Manifest) -> bool:
    return bool((answer.get("status") or {}).get("allowed"))

"""The question "may I?", which everybody may ask the API server about themselves."""

from typing import Final

from fleetqueue.api.scheme import Manifest

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def access_review(verb: str, group: str, resource: str) -> Manifest:
    """Ask whether the asker may do something in every namespace; a resource may be `jobs` or `jobs/status`."""
    name, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "group": group, "resource": name}
    if subresource:
        attributes["subresource"] = subresource
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def is_allowed(answer: Manifest) -> bool:
    return bool((answer.get("status") or {}).get("allowed"))

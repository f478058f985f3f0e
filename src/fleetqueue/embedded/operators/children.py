"""What is made for a job belongs to it, and goes with it."""

from typing import ClassVar

from fleetqueue.api.meta import Object, controller_reference
from fleetqueue.api.scheme import Manifest, Resource


class Service(Object):
    resource: ClassVar = Resource("", "v1", "Service", "services")


def owned(job: Manifest, kind: type[Object], made: Manifest) -> Manifest:
    """Return what was made, as the job's of that kind."""
    metadata = job["metadata"]
    owner = controller_reference(kind.resource, metadata["name"], metadata["uid"])
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}

"""The names of Workloads: Kueue names them after their jobs, and MultiKueue finds those of a job by the same rule."""

import hashlib
from typing import Final

from fleetqueue.api.kueue_pods import origin_uid
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest

LONGEST: Final = 253
HASH: Final = 5


def workload_name(kind: str, group: str, name: str, uid: str, version: str = "") -> str:
    """Return the name that Kueue gives to the Workload of a job, or of one version of an elastic job."""
    identity = "\n".join((kind, group, name, uid, *((version,) if version else ())))
    digest = hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()
    return f"{f'{kind.lower()}-{name}'[: LONGEST - 1 - HASH]}-{digest[:HASH]}"


def name_for_pods_of(kind: type[Object], parent: Manifest, suffix: str = "") -> str:
    """Return the name of the Workload for pods of a parent, or for one group of them; on a worker it is the hub's."""
    name = f"{parent['metadata']['name']}{suffix}"
    return workload_name(kind.resource.kind, kind.resource.group, name, origin_uid(parent))

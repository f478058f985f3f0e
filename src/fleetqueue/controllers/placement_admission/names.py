"""Names that this package writes or answers to."""

from hashlib import sha256
from typing import Final

FINALIZER: Final = "fleetqueue.dev/placement-admission"

DRAINING: Final = "fleetqueue.dev/draining"
"""Annotation on a MultiKueueConfig: JSON, from each draining MultiKueueCluster to the time its drain began."""
PLACEMENT_LABEL: Final = "fleetqueue.dev/placement"
"""Label on a MultiKueueCluster that serves one Placement only."""
ALLOWED_CLUSTERS: Final = "fleetqueue.dev/clusters"
"""Annotation on a Workload or its pod template: the clusters it may run on, separated by commas."""
STRATEGY: Final = "fleetqueue.dev/strategy"
"""Annotation on an AdmissionCheck of ours: `spread` or `pack`. An AdmissionCheck has no other place for it: its
parameters are a reference to the Placement, and the Placement is not ours."""

FENCED: Final = "fleetqueue.dev/Fenced"
"""Condition of a Workload that asks for the fence: whether it was sent in trust of an agent."""
FENCE_MANAGER: Final = "fleetqueue-fence"
"""The field manager of that condition."""

LONGEST_MANAGER: Final = 128
"""Bytes of a field manager's name that an API server accepts."""

ACTIVE: Final = "Active"
DRAINING_CONDITION: Final = "Draining"
DISPATCHING: Final = "Dispatching"
CONDITIONS: Final = {ACTIVE, DRAINING_CONDITION, DISPATCHING}


def check_manager(check: str) -> str:
    """Name the field manager of one entry of a Workload's admissionChecks.

    It is one per check, since an apply replaces all that its manager owns, and a Workload may have several of our
    checks. Of a name that is too long a hash stands for the rest.
    """
    name = f"fleetqueue-check-{check}"
    if len(name) <= LONGEST_MANAGER:  # names of checks are ASCII
        return name
    digest = sha256(check.encode()).hexdigest()[:16]
    return f"{name[: LONGEST_MANAGER - len(digest) - 1]}-{digest}"

"""How pods say which topology they ask for, and how Kueue tells them where to run: annotations and labels."""

from collections.abc import Mapping
from typing import Final

REQUIRED: Final = "kueue.x-k8s.io/podset-required-topology"
PREFERRED: Final = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED: Final = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_REQUIRED: Final = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
SLICE_CONSTRAINTS: Final = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
"""Slices of slices, as JSON: the widest first."""
GROUP_NAME: Final = "kueue.x-k8s.io/podset-group-name"
"""Two pod sets that name the same group are placed together."""
INDEX_OFFSET: Final = "kueue.x-k8s.io/pod-index-offset"
"""By how much the numbers of a set's pods are larger than their ranks."""
MOST_LAYERS: Final = 3

BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""What Go takes for a boolean."""


def asks_for_topology(annotations: Mapping[str, str]) -> bool:
    """Tell whether a pod is placed by topology: Kueue notes it on pods that did not ask for it, too."""
    return any(name in annotations for name in (REQUIRED, PREFERRED, UNCONSTRAINED, SLICE_REQUIRED, SLICE_CONSTRAINTS))

"""All worlds: each has its tests and its record by being listed here.

A new room makes a folder with its YAML files and a `world.py` that ends in `WORLD = World(...)`, and is listed below.
`python tools/record_scenarios.py <folder>` then writes its record. `multikueue_kinds` is a world for each family of
kinds, with a folder for each record.
"""

from .cluster_profiles.world import WORLD as CLUSTER_PROFILES
from .kueue_fair_sharing.world import WORLD as KUEUE_FAIR_SHARING
from .kueue_integrations.world import WORLD as KUEUE_INTEGRATIONS
from .kueue_jobs.world import WORLD as KUEUE_JOBS
from .kueue_queues.world import WORLD as KUEUE_QUEUES
from .kueue_readiness.world import WORLD as KUEUE_READINESS
from .kueue_topology.world import WORLD as KUEUE_TOPOLOGY
from .kueue_topology_pods.world import WORLD as KUEUE_TOPOLOGY_PODS
from .multikueue.world import WORLD as MULTIKUEUE
from .multikueue_kinds.world import WORLDS as MULTIKUEUE_KINDS
from .multikueue_readiness.world import WORLD as MULTIKUEUE_READINESS
from .multikueue_topology.world import WORLD as MULTIKUEUE_TOPOLOGY
from .placement.world import WORLD as PLACEMENT
from .registration.world import WORLD as REGISTRATION
from .work.world import WORLD as WORK
from .workloads.world import WORLD as WORKLOADS

WORLDS = (
    CLUSTER_PROFILES,
    KUEUE_FAIR_SHARING,
    KUEUE_INTEGRATIONS,
    KUEUE_JOBS,
    KUEUE_QUEUES,
    KUEUE_READINESS,
    KUEUE_TOPOLOGY,
    KUEUE_TOPOLOGY_PODS,
    MULTIKUEUE,
    *MULTIKUEUE_KINDS,
    MULTIKUEUE_READINESS,
    MULTIKUEUE_TOPOLOGY,
    PLACEMENT,
    REGISTRATION,
    WORK,
    WORKLOADS,
)

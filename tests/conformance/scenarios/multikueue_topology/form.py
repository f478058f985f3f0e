"""The form of these scenarios, which is that of `multikueue.form` with some words more.

    levels: [rack, host]                          # of the Topology that every cluster has
    nodes: {cluster1: {x1: {at: r1, cpu: 4}}}     # of each worker, as in `kueue_topology.form`; by default two
    plain: [hub]                                  # clusters whose flavor has no topology
    uncertain: [hub.jobs.a.status]                # what depends on who looks first, and is not compared
    steps:
      - patch: {cluster1 node x1: {...}}

The hub has no nodes of its own.
"""

from collections.abc import Iterator

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest

from ..kueue_topology.form import POOL, Maker  # noqa: TID252 - what the rooms share stands above them
from ..multikueue import form  # noqa: TID252
from ..world import Described  # noqa: TID252

KINDS: dict[str, type[Object]] = {**form.KINDS, "node": Node}
TWO = {"x1": {"at": "r1", "cpu": 4}, "x2": {"at": "r2", "cpu": 4}}
"""The nodes of a worker that says nothing else."""


def surroundings(said: Described, prefix: str, kubeconfigs: dict[str, str]) -> Iterator[tuple[str, Manifest]]:
    """Return what is there before the first step, and on which cluster."""
    for where, manifest in form.surroundings(said, prefix, kubeconfigs):
        if manifest["kind"] == kueue.ResourceFlavor.resource.kind:
            manifest["spec"] = _flavor_spec(said, where, prefix)
        yield where, manifest
    for where in ("hub", *form.WORKERS):
        nodes = said.get("nodes", {}).get(where, TWO) if where in form.WORKERS else {}
        state = {**Maker.at_first, "levels": said.get("levels", ["rack", "host"]), "nodes": nodes}
        yield from ((where, manifest) for _, manifest in Maker(prefix, state).further())


def _flavor_spec(said: Described, where: str, prefix: str) -> Manifest:
    """Return a flavor that keeps the pods of a scenario on its nodes."""
    nodes = {"nodeLabels": {POOL: f"{prefix}default"}}
    return nodes if where in said.get("plain", ()) else {**nodes, "topologyName": f"{prefix}default"}

"""Builders that speak of nodes, topologies and what pods ask of them."""

import msgspec

from fleetqueue.api.core_v1 import PodSpec
from fleetqueue.api.kueue_topology import HOSTNAME, TopologyRequest
from fleetqueue.api.taints import Taint
from fleetqueue.embedded.kueue.topology.counting import CountedTrees
from fleetqueue.embedded.kueue.topology.nodes import NodeNeeds, TopologyNode
from fleetqueue.embedded.kueue.topology.placement import Surroundings, place
from fleetqueue.embedded.kueue.topology.requests import NotPlaced, PlacementRequest
from fleetqueue.embedded.kueue.topology.tree import Tree

LEVELS = ("block", "rack", HOSTNAME)


def node(path, cpu=1, *, pods=110, labels=None, taints=(), levels=LEVELS, **resources):
    """A node in a domain: its path names a value for each level, `b1/r1/n1`."""
    values = path.split("/")
    name = values[-1] if levels[-1] == HOSTNAME else path.replace("/", "-")
    allocatable = {"cpu": cpu * 1000, "pods": pods, **resources}
    found = {**dict(zip(levels, values, strict=False)), **(labels or {})}
    return TopologyNode(name, found, tuple(Taint(**taint) for taint in taints), allocatable)


def tree(*nodes, levels=LEVELS, **sizes):
    """A tree of such nodes, or of paths and how many cpus each has."""
    return Tree(levels, [*nodes, *(node(path, cpu, levels=levels) for path, cpu in sizes.items())])


def asked(count, *, cpu=1, name="main", needs=None, implied=False, spec=None, **topology):
    request = msgspec.convert(topology, TopologyRequest)
    needs = NodeNeeds.of(msgspec.convert(spec or {}, PodSpec)) if needs is None else needs
    return PlacementRequest(name, count, {"cpu": cpu * 1000}, needs, request, is_implied=implied)


def placed(where, workers, leader=None, **surroundings):
    """Return how many pods are in which domain, or why there are none."""
    try:
        found = place(Surroundings("t", where, CountedTrees(where), {}, **surroundings), workers, leader)
    except NotPlaced as reason:
        return str(reason)
    if leader is None:
        return written(found[workers.name])
    return written(found[leader.name]), written(found[workers.name])


def written(placement):
    return {"/".join(domain.values): domain.pods for domain in placement.domains}

"""What Workloads say of topologies reads as it was written."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_topology import SliceConstraint, Topology
from fleetqueue.api.pod_templates import pod_sets

NODES = {
    "levels": ["kubernetes.io/hostname"],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"prefix": "pool-a-", "roots": ["1", "2"]}}],
            "podCounts": {"universal": 3},
        },
        {"domainCount": 1, "valuesPerLevel": [{"universal": "x"}], "podCounts": {"individual": [1]}},
    ],
}


def workload(**assignment):
    admission = {"clusterQueue": "q", "podSetAssignments": [{"name": "main", **assignment}]}
    status = {"admission": admission, "unhealthyNodes": [{"name": "x"}]}
    return kueue.Workload.view({"metadata": {"name": "w", "namespace": "n"}, "status": status})


def test_an_assignment_lists_its_domains_one_by_one():
    status = workload(topologyAssignment=NODES).status

    given = status.admission.pod_set_assignments[0].topology_assignment

    assert [*given.domains] == [(("pool-a-1",), 3), (("pool-a-2",), 3), (("x",), 1)]
    assert [*given.lowest_values] == ["pool-a-1", "pool-a-2", "x"]
    assert given.is_of_nodes
    assert [node.name for node in status.unhealthy_nodes] == ["x"]


def test_a_pod_set_waits_for_its_topology_until_that_is_assigned():
    def waits(**fields):
        return workload(**fields).status.admission.pod_set_assignments[0].waits_for_topology

    assert not waits()
    assert waits(delayedTopologyRequest="Pending")
    assert not waits(delayedTopologyRequest="Ready")
    assert not waits(delayedTopologyRequest="Pending", topologyAssignment=NODES)


@pytest.mark.parametrize(
    ("request_", "is_explicit", "slices"),
    [
        pytest.param({"required": "rack"}, True, [], id="required"),
        pytest.param({"unconstrained": False}, True, [], id="that it is said counts, not what"),
        pytest.param(
            {"podIndexLabel": "i", "podSetGroupName": "g"}, False, [], id="numbers and groups ask for nothing"
        ),
        pytest.param(
            {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}, True, [("rack", 2)], id="one layer of slices"
        ),
        pytest.param(
            {
                "podsetSliceRequiredTopologyConstraints": [
                    {"topology": "block", "size": 4},
                    {"topology": "r", "size": 2},
                ]
            },
            True,
            [("block", 4), ("r", 2)],
            id="several layers",
        ),
    ],
)
def test_a_request_tells_what_it_asks_for(request_, is_explicit, slices):
    (one,) = pod_sets([{"name": "main", "topologyRequest": request_}])

    assert one.topology_request.is_explicit is is_explicit
    assert one.asks_for_topology is is_explicit
    assert list(one.topology_request.slices) == [SliceConstraint(topology=t, size=s) for t, s in slices]


def test_a_topology_names_its_levels_from_the_largest():
    raw = {"metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": "block"}, {"nodeLabel": "rack"}]}}

    assert Topology.view(raw).levels == ("block", "rack")

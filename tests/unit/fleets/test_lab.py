"""A fleet with our parts in it: what it is told."""

from fleetqueue.fleets.lab import LabSettings
from fleetqueue.fleets.product_processes import PROBES
from fleetqueue.fleets.real_environment import QUEUE_NAMES, queues_for_all


def test_every_cluster_has_a_port_for_our_part():
    settings = LabSettings(workers=2)

    assert all(PROBES in settings.ports(cluster) for cluster in ("hub", "cluster1", "cluster2"))


def test_ocm_is_asked_to_bring_the_queues_of_the_example():
    work = queues_for_all()

    manifests = work["spec"]["manifestWorkTemplate"]["workload"]["manifests"]
    assert [m["metadata"]["name"] for m in manifests if m["kind"] == "LocalQueue"] == list(QUEUE_NAMES)
    assert work["spec"]["placementRefs"][0]["name"] == "placement-spoke"

"""A worker that is taken for the hub is refused; a cluster of which nothing is known is not."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.cli.options import refuse_worker
from fleetqueue.client import Client
from tests.unit.unserved_kinds import lack


async def test_a_hub_is_asked_once(api):
    asked = []
    hub = Client(api)
    hub.observe = lambda request, status: asked.append(request.path)

    await refuse_worker(hub)

    assert asked == ["/apis/cluster.open-cluster-management.io/v1"]


async def test_a_worker_is_refused_with_the_options_that_name_the_hub(api):
    lack(api, ManagedCluster, ManifestWork)

    with pytest.raises(CommandFailure, match=r"^this cluster is a worker, not the hub: it has the agent") as failure:
        await refuse_worker(Client(api), "--hub-kubeconfig")

    assert str(failure.value).endswith("; name the hub with --hub-kubeconfig")
    assert failure.value.code == Code.NOT_FOUND


async def test_kueue_alone_is_refused_only_where_clusters_are_needed(api):
    lack(api, ManagedCluster)

    await refuse_worker(Client(api))
    with pytest.raises(CommandFailure, match=r"this cluster is no hub: .* name the hub with --kubeconfig") as failure:
        await refuse_worker(Client(api), needs_clusters=True)

    assert failure.value.code == Code.NOT_FOUND


async def test_who_may_not_ask_what_is_served_is_not_refused(api):
    def refuse(request):
        raise errors.Forbidden("no")

    lack(api, ManifestWork)
    api.answers[f"GET /apis/{ManagedCluster.resource.api_version}"] = refuse

    await refuse_worker(Client(api), needs_clusters=True)

"""What `explain` answers where somebody names something else."""

import pytest

from fleetqueue.admin import explain
from fleetqueue.admin.explain import ways_to
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client

NAMED = '"gpu" is a ClusterQueue; a LocalQueue that leads to it is explained by `fleetqueue explain queue a -n team-a`'


@pytest.mark.parametrize(
    ("local_queues", "said"),
    [
        pytest.param(
            [],
            '"gpu" is a ClusterQueue, and no LocalQueue that can be seen leads to it; create one for jobs',
            id="none",
        ),
        pytest.param(["team-a/a"], NAMED, id="one"),
        pytest.param(["team-b/b", "team-a/a"], f"{NAMED}; team-b/b leads to it, too", id="two"),
        pytest.param(
            [f"team-a/{name}" for name in "abcdefgh"],
            f"{NAMED}; team-a/b, team-a/c, team-a/d, team-a/e, team-a/f, ... lead to it, too",
            id="many",
        ),
    ],
)
def test_a_cluster_queue_is_answered_with_the_local_queues_that_lead_to_it(local_queues, said):
    assert ways_to("gpu", local_queues) == said


def local_queue(name, namespace, leads_to):
    return kueue.LocalQueue.manifest(name, namespace, spec={"clusterQueue": leads_to})


async def test_the_local_queues_of_all_namespaces_are_named(api):
    api.add(kueue.ClusterQueue.manifest("gpu"), local_queue("a", "team-a", "gpu"), local_queue("b", "ns", "cpu"))

    with pytest.raises(errors.NotFound) as failure:
        await explain.queue(Client(api), "gpu", "default", kueue_namespace="kueue-system")

    assert str(failure.value) == NAMED


async def test_who_may_list_those_of_one_namespace_is_told_of_these(api):
    api.add(kueue.ClusterQueue.manifest("gpu"), local_queue("a", "team-a", "gpu"), local_queue("b", "ns", "gpu"))
    api.fail_on("list localqueues", errors.Forbidden("no"))

    with pytest.raises(errors.NotFound) as failure:
        await explain.queue(Client(api), "gpu", "team-a", kueue_namespace="kueue-system")

    assert str(failure.value) == NAMED

"""What the user's own contexts of workers add to an explanation."""

from dataclasses import replace

import pytest

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.explanations import Explanation
from fleetqueue.admin.own_contexts import OwnContexts, completed
from fleetqueue.admin.step_commands import context_of, with_context
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import POD_SCHEDULED, Pod
from fleetqueue.api.meta import controller_reference
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.testing.builders import condition, pod_template

URL = "https://c1.example:6443"
DESCRIBE = "kubectl --context {} -n team-a describe pods -l batch.kubernetes.io/job-name=train"
NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."
UNREADY = Explanation(
    "Job/train of namespace team-a",
    Cause("PodsNotReady", "not ready", f"{DESCRIBE.format('CONTEXT')}, with your context of c1"),
    job="Job/train",
    namespace="team-a",
)


@pytest.mark.parametrize(
    ("step", "asked", "written"),
    [
        pytest.param("wait", "", "wait", id="none"),
        pytest.param(
            "kubectl --context CONTEXT get pods, with your context of c1",
            "c1",
            "kubectl --context mine get pods",
            id="of one",
        ),
        pytest.param(
            "look: `kubectl --context CONTEXT get pods`, with your context of c1; or give it up",
            "c1",
            "look: `kubectl --context mine get pods`; or give it up",
            id="amid a step",
        ),
        pytest.param("kubectl --context CONTEXT get pods, with your context of c1 or c2", "", None, id="of several"),
    ],
)
def test_a_step_names_the_context_of_one_cluster(step, asked, written):
    assert context_of(step) == asked
    assert written is None or with_context(step, "mine") == written


def test_a_context_with_odd_signs_is_quoted():
    step = "kubectl --context CONTEXT get pods, with your context of c1"

    assert with_context(step, "admin of c1") == "kubectl --context 'admin of c1' get pods"


@pytest.fixture
async def worker(api):
    """The hub and the worker are one server here: what is asked of each is another."""
    spec = {"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": URL}]}
    api.add(cluster.ManagedCluster.manifest("c1", spec=spec))
    api.add(Job.manifest("train", "team-a", spec={"template": pod_template()}))
    owner = controller_reference(Job.resource, "train", api.get(Job, "train", "team-a").uid)
    said = {"conditions": [condition(POD_SCHEDULED, False, "Unschedulable", NO_ROOM)]}
    pod = Pod.manifest("train-x", "team-a", spec=pod_template()["spec"], status=said)
    pod["metadata"]["ownerReferences"] = [owner]
    api.add(pod)
    return api


def own(api, **servers):
    contexts = {name: Connection(server, name=name) for name, server in servers.items()}
    return OwnContexts(lambda: contexts, lambda connection: Client(api))


async def test_pods_that_are_not_ready_are_looked_at_with_the_users_own_context(worker):
    found = await completed(UNREADY, Client(worker), own(worker, mine=URL))

    assert found.cause.step == DESCRIBE.format("mine")
    assert found.cause.sentence == f"not ready; on c1: pod train-x: has no node yet: {NO_ROOM}"


async def test_who_has_no_context_of_a_worker_reads_what_the_hub_tells(worker):
    assert await completed(UNREADY, Client(worker), own(worker, hub="https://hub")) == UNREADY


async def test_who_may_not_read_pods_there_still_reads_which_context_leads_there(worker):
    worker.fail_on("list pods*", errors.Unreachable("no route"))

    found = await completed(UNREADY, Client(worker), own(worker, mine=URL))

    assert (found.cause.sentence, found.cause.step) == ("not ready", DESCRIBE.format("mine"))


async def test_that_there_are_no_pods_yet_is_told(worker):
    worker.remove(Pod, "train-x", "team-a")

    found = await completed(UNREADY, Client(worker), own(worker, mine=URL))

    assert found.cause.sentence == "not ready; on c1: it has no pods there yet"


async def test_a_job_on_the_hub_is_looked_at_there(worker):
    step = DESCRIBE.format("").replace("--context  ", "")
    on_hub = replace(UNREADY, cause=Cause("PodsNotReady", "not ready", step))

    found = await completed(on_hub, Client(worker), own(worker))

    assert found.cause == Cause("PodsNotReady", f"not ready; on the hub: pod train-x: has no node yet: {NO_ROOM}", step)


async def test_of_another_cause_only_the_context_is_named(worker):
    step = "wait; `kubectl --context CONTEXT get nodes`, with your context of c1"
    waiting = replace(UNREADY, cause=Cause("Nominated", "it waits", step))

    found = await completed(waiting, Client(worker), own(worker, mine=URL))

    assert found.cause == Cause("Nominated", "it waits", "wait; `kubectl --context mine get nodes`")

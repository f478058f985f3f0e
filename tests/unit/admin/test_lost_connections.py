"""What to do about a worker that Kueue does not reach, and what becomes of its jobs meanwhile."""

import msgspec
import pytest

from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.lost_connections import (
    LOST_TIMEOUT,
    Way,
    meanwhile,
    repair_of,
    repair_of_refused,
    repair_of_unreachable,
    way_to,
)
from fleetqueue.admin.placement_verdicts import FleetObjects
from fleetqueue.admin.step_commands import commands_of
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import LOST_WORKER
from fleetqueue.api.fleetqueue import CLUSTER_LABEL
from fleetqueue.controllers.placement_admission.names import FENCED
from fleetqueue.testing.builders import by_secret, condition

OURS = "kueue-admin-c1-kubeconfig"
PRINT = (
    "kubectl -n kueue-system get secret {} -o jsonpath='{{.data.kubeconfig}}' | base64 -d | grep -o 'https*://[^\", ]*'"
)
UNJOIN = "fleetqueue unjoin c1 --force"
EVENTS = "kubectl get events -n default --field-selector involvedObject.name=c1"
AGENT = "kubectl --context CONTEXT -n open-cluster-management-agent get pods"


def member(refusal="", *, secret=OURS, label="c1", spec=None, active=False):
    conditions = [condition("Active", active, "Active" if active else "ClientConnectionFailed", refusal)]
    labels = {CLUSTER_LABEL: label} if label else {}
    manifest = kueue.MultiKueueCluster.manifest("gpu-c1", labels=labels, spec=spec or by_secret(secret))
    return kueue.MultiKueueCluster.view({**manifest, "status": {"conditions": conditions}})


def hub(found, *managed, **known):
    fleet = FleetObjects(clusters=[cluster.ManagedCluster.view(one) for one in managed])
    return HubState(members={"gpu-c1": found} if found is not None else {}, fleet=fleet, **known)


SILENT = cluster.ManagedCluster.manifest("c1", status={"conditions": [condition(cluster.AVAILABLE, "Unknown")]})


@pytest.mark.parametrize(
    ("found", "way"),
    [
        pytest.param(member(), Way("c1", OURS), id="a member of ours"),
        pytest.param(member(label=""), Way("c1", OURS), id="known by its secret"),
        pytest.param(
            member(label="", secret="mine"),
            Way("gpu-c1", "mine", by_hand="gpu-c1"),
            id="a member that leads nowhere known",
        ),
        pytest.param(
            member(label="", spec={"clusterSource": {"clusterProfileRef": {"name": "c1"}}}),
            Way("c1", OURS),
            id="by a ClusterProfile, which names our secret",
        ),
        pytest.param(
            member(spec={"clusterSource": {"kubeConfig": {"location": "/etc/c1", "locationType": "Path"}}}),
            Way("c1"),
            id="by a file",
        ),
    ],
)
def test_the_way_to_a_worker_is_its_cluster_and_its_secret(found, way):
    assert way_to(found, "kueue-system") == way


@pytest.mark.parametrize(
    ("around", "code", "commands"),
    [
        pytest.param(
            hub(member("watch workloads: connection refused")),
            "ClusterNotConnected",
            [PRINT.format(OURS), UNJOIN],
            id="the network",
        ),
        pytest.param(
            hub(member("i/o timeout", secret="mine", label="")),
            "ClusterNotConnected",
            [PRINT.format("mine")],
            id="the network, of one that was made by hand",
        ),
        pytest.param(hub(member("Unauthorized")), "CredentialRefused", [EVENTS], id="the credential, which we keep"),
        pytest.param(
            hub(member("Unauthorized", secret="mine")), "CredentialRefused", [], id="a credential that was made by hand"
        ),
        pytest.param(
            hub(member('no matches for kind "JobSet"')), "KindNotServed", ["fleetqueue doctor"], id="a kind is missing"
        ),
        pytest.param(
            hub(member(f'Secret "{OURS}" not found')), "ClusterNotConnected", [UNJOIN], id="the secret is missing"
        ),
        pytest.param(
            hub(member(active=True), SILENT), "ClusterNotConnected", [AGENT, UNJOIN], id="its agent alone is silent"
        ),
        pytest.param(hub(member(active=True)), "ClusterNotConnected", [UNJOIN], id="its ManagedCluster is gone"),
        pytest.param(hub(None), "ClusterNotConnected", ["fleetqueue get placements --why"], id="its member is gone"),
        pytest.param(HubState(), "ClusterNotConnected", [], id="nothing may be seen"),
    ],
)
def test_what_brings_a_worker_back_follows_from_what_kueue_says(around, code, commands):
    repair = repair_of("gpu-c1", around)

    assert (repair.code, commands_of(repair.step())) == (code, commands)


def test_a_worker_that_does_not_answer_is_looked_at_and_given_up_last():
    assert repair_of("gpu-c1", hub(member("connection refused"))).step("the job waits") == (
        f"look whether c1 is up and reachable from the hub at the address of its credential, which"
        f" `{PRINT.format(OURS)}` prints; when it answers, Kueue connects by itself; the job waits; only if c1 is gone"
        f" for good: `{UNJOIN}`, which starts its jobs elsewhere: if it is not gone, they run twice"
    )


def test_who_made_a_credential_by_hand_makes_it_again():
    step = repair_of("gpu-c1", hub(member("Unauthorized", secret="mine"))).step()

    assert step.startswith("make one with an administrator's kubeconfig of c1: fleetqueue kubeconfig create")
    assert "kubectl create secret generic mine -n kueue-system" in step


@pytest.mark.parametrize("ask", [repair_of_refused, repair_of_unreachable])
def test_of_a_worker_of_which_nothing_may_be_seen_no_secret_is_named(ask):
    assert PRINT.format("") not in ask("gpu-c1", HubState()).step()


def sent(*, asked="", fenced=False, on="gpu-c1"):
    conditions = [condition(FENCED)] if fenced else []
    manifest = kueue.Workload.manifest(
        "w",
        "a",
        annotations={LOST_WORKER: asked} if asked else {},
        spec={"queueName": "q"},
        status={"clusterName": on, "conditions": conditions},
    )
    return kueue.Workload.view(manifest)


def queue(asked=""):
    annotations = {LOST_WORKER: asked} if asked else {}
    local = kueue.LocalQueue.view(kueue.LocalQueue.manifest("q", "a", spec={"clusterQueue": "cq"}))
    found = kueue.ClusterQueue.view(kueue.ClusterQueue.manifest("cq", annotations=annotations, spec={}))
    return {"local_queues": {"a/q": local}, "cluster_queues": {"cq": found}}


LOST = member("x")


@pytest.mark.parametrize(
    ("workload", "around", "text"),
    [
        pytest.param(
            sent(),
            hub(LOST, **queue()),
            f"the job starts elsewhere after {LOST_TIMEOUT}, and may still run there then",
            id="rerun",
        ),
        pytest.param(
            sent(asked="rerun"),
            hub(LOST, **queue("wait")),
            f"the job starts elsewhere after {LOST_TIMEOUT}, and may still run there then",
            id="its own word counts first",
        ),
        pytest.param(
            sent(),
            hub(LOST, **queue("wait")),
            f"until it answers or is given up, the job does not start elsewhere ({LOST_WORKER} is 'wait')",
            id="wait, by its queue",
        ),
        pytest.param(
            sent(asked="fence", fenced=True),
            hub(LOST),
            f"the job starts elsewhere after {LOST_TIMEOUT}, as soon as the agent there has surely stopped it",
            id="fence",
        ),
        pytest.param(
            sent(asked="fence"),
            hub(LOST),
            f"until it answers or is given up, the job does not start elsewhere ({LOST_WORKER} is 'fence')",
            id="a fence that no agent has promised",
        ),
        pytest.param(
            sent(asked="soon"),
            hub(LOST),
            f"until it answers or is given up, the job does not start elsewhere ({LOST_WORKER} is 'soon')",
            id="an unknown word is taken with care",
        ),
        pytest.param(sent(), hub(LOST), "", id="its queue may not be seen"),
        pytest.param(sent(on=""), hub(LOST, **queue()), "", id="only nominated"),
        pytest.param(sent(), HubState(**queue()), "", id="its member may not be seen"),
        pytest.param(
            sent(),
            hub(member(active=True), SILENT, **queue()),
            "Kueue is still connected to it, so the job goes on there",
            id="Kueue has not lost it",
        ),
    ],
)
def test_what_becomes_of_a_job_on_a_lost_worker(workload, around, text):
    assert meanwhile(workload, around) == text


def test_a_member_without_a_source_leads_nowhere():
    bare = msgspec.structs.replace(member(label=""), spec=kueue.MultiKueueClusterSpec())

    assert way_to(bare, "kueue-system") == Way("gpu-c1", by_hand="gpu-c1")

"""Taking fleetqueue away: what is changed, what stays, and what the operator is told."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.admin.dispatcher import DEPLOYMENTS
from fleetqueue.admin.uninstalling import DEPLOYMENT, Remains, Removal, uninstall, without_checks, without_our_entries
from fleetqueue.admin.waiting import NoAnswer, Observed
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_v1 import AddOnPlacementScore, ManagedCluster
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import ConfigMap, Secret, secret
from fleetqueue.api.fence import LEASE
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, CREDENTIALS_ANNOTATION, RELEASED
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.secret_content import Issued, secret_manifest
from fleetqueue.controllers.placement_admission.messages import check_waits, waits_for_silent
from fleetqueue.controllers.placement_admission.names import DRAINING, FINALIZER
from fleetqueue.runtime.cluster import MANAGED_BY, OURS
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import kueue_deployment, kueue_pod
from fleetqueue.testing.virtual_time import advance

CONFIG = "multiKueue: {dispatcherName: fleetqueue.dev/dispatcher}"
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def hub(api: ArrangedApi) -> ArrangedApi:
    """A hub with everything of ours, and no Deployments: a lab."""
    for name, namespace in (("kueue-controller-manager", "kueue-system"), (DEPLOYMENT, "fleetqueue-system")):
        api.answers[f"PATCH {DEPLOYMENTS.path(namespace, name)}"] = not_found
    checks = [{"name": "multikueue"}, {"name": "gpu"}]
    credential = Issued("kubeconfig", START, START + timedelta(days=1))
    api.add(
        ConfigMap.manifest("kueue-manager-config", "kueue-system", data={"controller_manager_config.yaml": CONFIG}),
        {
            **kueue.AdmissionCheck.manifest("gpu", spec={"controllerName": "open-cluster-management.io/placement"}),
            "metadata": {"name": "gpu", "finalizers": ["kueue.x-k8s.io/resource-in-use", FINALIZER]},
        },
        kueue.AdmissionCheck.manifest("multikueue", spec={"controllerName": kueue.MULTIKUEUE_CONTROLLER}),
        kueue.ClusterQueue.manifest("cq", spec={"admissionChecksStrategy": {"admissionChecks": checks}}),
        kueue.MultiKueueConfig.manifest("gpu", labels=OURS, spec={"clusters": ["gpu-c1"]}),
        kueue.MultiKueueCluster.manifest("gpu-c1", labels={**OURS, CLUSTER_LABEL: "c1"}),
        kueue.MultiKueueConfig.manifest("by-hand", spec={"clusters": ["mine"]}),
        labelled(secret_manifest("c1", "kueue-system", credential, None)),
        secret("c1-admin", "fleetqueue-system", {}, labels=OURS),
        AddOnPlacementScore.manifest("resource-usage-score", "c1", labels=OURS),
    )
    return api


def labelled(manifest: dict) -> dict:
    manifest["metadata"]["labels"] |= OURS
    return manifest


def not_found(request: object) -> None:
    raise errors.NotFound("no such deployment")


async def remove(api: ArrangedApi, removal: Removal = Removal()) -> Remains:  # noqa: B008 - it is frozen
    return await uninstall(Client(api), removal, lambda line: None)


async def test_while_jobs_wait_for_a_cluster_that_may_run_them_nothing_is_done(hub):
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    message = check_waits(waits_for_silent("gpu-c1", moment, "wait", is_ours=True))
    state = {"name": "gpu", "state": "Pending", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    hub.add(kueue.Workload.manifest("job", "team-a", spec={}, status={"admissionChecks": [state]}))
    hub.writes.clear()

    remains = await remove(hub, Removal(detach_checks=True, purge=True))

    assert hub.writes == []
    assert "jobs wait for a cluster that may run them (team-a/job)" in remains.todo[0]


async def test_purging_ends_what_agents_have_promised(hub):
    hub.namespace("c1")
    hub.add(Lease.manifest(LEASE, "c1", labels=OURS, spec={}), Lease.manifest("other", "c1", spec={}))

    await remove(hub, Removal(purge=True))

    assert [lease.name for lease in hub.list(Lease) if lease.namespace == "c1"] == ["other"]


async def test_kueue_dispatches_by_itself_again(hub):
    await remove(hub)

    config = hub.get(ConfigMap, "kueue-manager-config", "kueue-system")
    assert "dispatcherName" not in config.data["controller_manager_config.yaml"]


async def test_without_a_deployment_the_operator_is_told_to_restart_kueue(hub):
    remains = await remove(hub)

    assert any("restart Kueue on the hub yourself" in todo for todo in remains.todo)


async def test_without_a_deployment_a_restart_is_due_until_somebody_says_that_it_was_done(hub):
    """Kueue waits for our nominations until it is restarted, and nothing on the hub shows whether it was."""
    await remove(hub, Removal(detach_checks=True))

    again = await remove(hub, Removal(detach_checks=True))
    told = await remove(hub, Removal(detach_checks=True, kueue_restarted=True))

    assert [todo.endswith("then uninstall again with --kueue-restarted") for todo in again.todo] == [True]
    assert told.todo == []


async def test_a_restart_before_the_dispatcher_was_set_back_does_not_count(hub):
    remains = await remove(hub, Removal(kueue_restarted=True))

    assert any("restart Kueue on the hub yourself" in todo for todo in remains.todo)


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_a_kueue_that_is_older_than_the_way_back_is_restarted(hub):
    hub.add(kueue_deployment("r-kueue-controller-manager"), kueue_pod())
    await advance(10)
    hub.change(ConfigMap, "kueue-manager-config", "kueue-system", data={"controller_manager_config.yaml": "{}"})
    said = []

    remains = await uninstall(Client(hub), Removal(), said.append)

    assert "restarted Deployment kueue-system/r-kueue-controller-manager" in said
    assert not any("restart Kueue" in todo for todo in remains.todo)


async def test_queues_with_placement_checks_are_named(hub):
    remains = await remove(hub)

    assert any('ClusterQueue "cq" has placement checks that nobody answers' in todo for todo in remains.todo)


async def test_detaching_takes_only_the_placement_checks_off(hub):
    remains = await remove(hub, Removal(detach_checks=True))

    strategy = hub.get(kueue.ClusterQueue, "cq").spec.admission_checks_strategy
    assert [check.name for check in strategy.admission_checks] == ["multikueue"]
    assert not any("ClusterQueue" in todo for todo in remains.todo)


async def test_our_finalizer_goes_and_that_of_others_stays(hub):
    await remove(hub)

    assert hub.get(kueue.AdmissionCheck, "gpu").metadata.finalizers == ("kueue.x-k8s.io/resource-in-use",)


async def test_a_check_that_somebody_writes_to_meanwhile_is_let_go_all_the_same(hub):
    hub.fail_on("patch admissionchecks/gpu", errors.Conflict("Kueue was faster"), times=2)

    await remove(hub)

    assert FINALIZER not in hub.get(kueue.AdmissionCheck, "gpu").metadata.finalizers


async def test_what_queues_use_stays_listed(hub):
    await remove(hub, Removal(detach_checks=True, purge=True))

    assert hub.get(kueue.MultiKueueConfig, "gpu").spec.clusters == ("gpu-c1",)
    assert hub.get(kueue.MultiKueueCluster, "gpu-c1") is not None
    assert hub.get(Secret, "kueue-admin-c1-kubeconfig", "kueue-system") is not None


async def test_purging_makes_it_ordinary_and_deletes_what_only_we_used(hub):
    await remove(hub, Removal(purge=True))

    for kind, name, namespace in (
        (kueue.MultiKueueConfig, "gpu", ""),
        (kueue.MultiKueueCluster, "gpu-c1", ""),
        (Secret, "kueue-admin-c1-kubeconfig", "kueue-system"),
    ):
        assert MANAGED_BY not in hub.get(kind, name, namespace).metadata.labels
        assert RELEASED in hub.get(kind, name, namespace).metadata.annotations
    assert hub.get(AddOnPlacementScore, "resource-usage-score", "c1") is None
    assert hub.get(Secret, "c1-admin", "fleetqueue-system") is None


async def test_what_somebody_else_made_is_not_touched(hub):
    before = hub.raw(kueue.MultiKueueConfig, "by-hand")

    await remove(hub, Removal(detach_checks=True, purge=True))

    assert hub.raw(kueue.MultiKueueConfig, "by-hand") == before


async def test_purging_takes_our_marks_off_managed_clusters_and_no_others(hub):
    theirs = {"labels": {"zone": "a", MANAGED_BY: "somebody"}, "annotations": {"note": "n"}}
    hub.add(
        ManagedCluster.manifest("c1", labels={**OURS, "zone": "a"}, annotations={CREDENTIALS_ANNOTATION: "true"}),
        ManagedCluster.manifest("c2", **theirs),
    )
    before = hub.raw(ManagedCluster, "c2")

    await remove(hub, Removal(purge=True))

    left = hub.get(ManagedCluster, "c1").metadata
    assert "zone" in left.labels
    assert MANAGED_BY not in left.labels
    assert CREDENTIALS_ANNOTATION not in left.annotations
    assert hub.raw(ManagedCluster, "c2") == before


PROXY = {"name": "proxy", "cluster": {"server": "https://proxy"}}
PROVIDERS = {"accessProviders": [PROXY, {"name": "fleetqueue", "cluster": {"server": "https://c1"}}]}


def add_profile(hub: ArrangedApi) -> None:
    spec = {"clusterManager": {"name": "open-cluster-management"}}
    hub.add(ClusterProfile.manifest("c1", "kueue-system", spec=spec, status=PROVIDERS))


async def test_purging_takes_our_entries_off_profiles_and_no_others(hub):
    add_profile(hub)

    await remove(hub, Removal(purge=True))

    providers = hub.get(ClusterProfile, "c1", "kueue-system").status.access_providers
    assert [provider["name"] for provider in providers] == ["proxy"]


async def test_purging_keeps_the_entry_by_which_kueue_reaches_a_worker(hub):
    add_profile(hub)
    spec = {"clusterSource": {"clusterProfileRef": {"name": "c1"}}}
    hub.add(kueue.MultiKueueCluster.manifest("by-profile", spec=spec))

    await remove(hub, Removal(purge=True))

    assert hub.get(ClusterProfile, "c1", "kueue-system").has_provider("fleetqueue")


@pytest.mark.parametrize(
    ("entry", "is_ours"),
    [
        pytest.param({"consumer": "kueue-admin", "accessRef": {"name": "kueue-admin-c1-kubeconfig"}}, True, id="ours"),
        pytest.param({"consumer": "kueue-admin", "accessRef": {"name": "another"}}, False, id="another secret"),
        pytest.param({"consumer": "kueue-admin"}, False, id="no secret"),
        pytest.param({"consumer": "x", "accessRef": {"name": "kueue-admin-c1-kubeconfig"}}, False, id="another user"),
    ],
)
def test_entries_of_credentials_are_ours_by_consumer_and_secret(entry, is_ours):
    profile = ClusterProfile.view(ClusterProfile.manifest("c1", "kueue-system", status={"credentials": [entry]}))

    assert without_our_entries(profile) == ({"credentials": []} if is_ours else {})


async def test_the_end_of_the_credentials_is_told(hub):
    remains = await remove(hub)

    assert any("the first ends at 2026-01-02T00:00:00Z" in note for note in remains.notes)


async def test_a_draining_cluster_is_told(hub):
    marks = {DRAINING: '{"gpu-c1": "2026-01-01T00:00:00Z"}'}
    hub.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": marks})

    remains = await remove(hub)

    assert any("still lists gpu-c1, which was draining" in note for note in remains.notes)


async def test_finalizers_wait_until_the_controller_has_stopped(hub):
    renewed = f"{clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"
    spec = {"holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": renewed}
    hub.add(Lease.manifest("fleetqueue-controller", "fleetqueue-system", spec=spec))

    remains = await remove(hub)

    assert (
        "there is no Deployment fleetqueue-system/fleetqueue-controller to scale to 0; the controller stops: not within"
        " 0.5 s; pod-1 still leads: stop it, then uninstall again"
    ) in remains.todo
    assert FINALIZER in hub.get(kueue.AdmissionCheck, "gpu").metadata.finalizers


@pytest.mark.parametrize("stalled", ["watch leases*", "watch admissionchecks"])
async def test_a_hub_that_stalls_does_not_say_that_nobody_leads(hub, stalled):
    hub.way.fail_on(stalled, errors.Unreachable("timed out"), times=100)

    with pytest.raises(NoAnswer, match=r"within 60 s: timed out$"):
        await remove(hub, Removal(purge=True))

    assert MANAGED_BY in hub.get(kueue.MultiKueueConfig, "gpu").metadata.labels


async def test_a_hub_that_answers_late_is_waited_for(hub):
    """Longer than one waits for a controller that nobody stops."""
    hub.way.fail_on("watch leases*", errors.Unreachable("timed out"), times=5)
    hub.way.fail_on("watch admissionchecks", errors.Unreachable("timed out"), times=5)

    await remove(hub)

    assert FINALIZER not in hub.get(kueue.AdmissionCheck, "gpu").metadata.finalizers


async def test_a_controller_without_a_lease_is_seen_by_what_it_does(hub):
    async with Observed({"hub": Client(hub)}) as seen:
        seen.follow("hub", kueue.AdmissionCheck)
        await seen.synced()
        seen.watch(lambda *change: put_back(hub))
        remains = await remove(hub, Removal(purge=True))

    assert any("a `fleetqueue controller` without leader election still runs" in todo for todo in remains.todo)
    assert MANAGED_BY in hub.get(kueue.MultiKueueConfig, "gpu").metadata.labels


def put_back(hub: ArrangedApi) -> None:
    if FINALIZER not in hub.get(kueue.AdmissionCheck, "gpu").metadata.finalizers:
        hub.change(kueue.AdmissionCheck, "gpu", metadata={"finalizers": [FINALIZER]})


async def test_a_second_time_there_is_nothing_to_write(hub):
    hub.add(kueue_deployment("kueue"))
    await remove(hub, Removal(detach_checks=True))
    hub.writes.clear()

    remains = await remove(hub, Removal(detach_checks=True))

    assert hub.writes == []
    assert remains.todo == []


@pytest.mark.parametrize(
    ("strategy", "wanted"),
    [
        pytest.param(None, "unchanged", id="no checks at all"),
        pytest.param([{"name": "other"}], "unchanged", id="none of ours"),
        pytest.param([{"name": "gpu"}], None, id="ours alone"),
        pytest.param(
            [{"name": "other", "onFlavors": ["f"]}, {"name": "gpu"}],
            {"admissionChecks": [{"name": "other", "onFlavors": ["f"]}]},
            id="another one beside ours, with all its fields",
        ),
    ],
)
def test_without_checks(strategy, wanted):
    queue = {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {}}
    if strategy is not None:
        queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": strategy}

    patch = without_checks(queue, {"gpu"})

    assert (patch["spec"]["admissionChecksStrategy"] if patch else "unchanged") == wanted


async def test_an_add_on_that_was_in_use_is_let_go(hub):
    add_on = ManagedClusterAddOn.manifest("managed-serviceaccount", "c1", spec={})
    add_on["metadata"]["finalizers"] = ["fleetqueue.dev/credentials", "theirs/one"]
    hub.namespace("c1")
    hub.add(add_on)

    await remove(hub)

    kept = hub.get(ManagedClusterAddOn, "managed-serviceaccount", "c1").metadata.finalizers
    assert list(kept) == ["theirs/one"]

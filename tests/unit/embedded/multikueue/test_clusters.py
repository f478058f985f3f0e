"""MultiKueueClusters: how they are reached, what they say of it, and how a connection comes back."""

import asyncio
import base64
from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client.credentials import Credential
from fleetqueue.client.kubeconfig import parse, render

from .objects import SYSTEM, encoded

pytestmark = pytest.mark.fleet(parts=False)
CLUSTER = kueue.MultiKueueCluster


async def test_a_cluster_with_a_good_kubeconfig_is_connected(stage):
    stage.arrange()
    async with stage.multikueue():
        pass

    assert stage.active(CLUSTER, "cluster1") == "True Active: Connected"
    assert stage.hub.get(CLUSTER, "cluster1").status.conditions[0].observed_generation == 1


async def test_a_second_look_writes_nothing(stage):
    stage.arrange()
    async with stage.multikueue():
        await stage.fleet.advance(120)
        stage.hub.writes.clear()
        await stage.fleet.advance(3600)

    assert stage.hub.writes == []
    assert all(worker.writes == [] for worker in stage.workers)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        pytest.param(None, 'False BadKubeConfig: load client config failed: Secret "x" not found', id="no secret"),
        pytest.param(
            {"other": "eA=="},
            'False BadKubeConfig: load client config failed: key "kubeconfig" not found in secret "x"',
            id="no key",
        ),
        pytest.param(
            {"kubeconfig": encoded("users: [{name: u, user: {tokenFile: /t}}]")},
            "False InsecureKubeConfig: load client config failed: tokenFile is not allowed",
            id="a file",
        ),
    ],
)
async def test_a_source_that_cannot_be_used_is_told(stage, data, said):
    stage.hub.namespace(SYSTEM)
    stage.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": {"location": "x"}}}))
    if data is not None:
        stage.hub.add({**Secret.manifest("x", SYSTEM), "data": data})

    async with stage.multikueue():
        pass

    assert stage.active(CLUSTER, "c") == said


async def test_a_secret_that_comes_later_connects(stage):
    stage.hub.namespace(SYSTEM)
    stage.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": {"location": "x"}}}))
    async with stage.multikueue():
        data = {"kubeconfig": encoded(stage.fleet["cluster1"].kubeconfig)}
        stage.hub.add({**Secret.manifest("x", SYSTEM), "data": data})
        await stage.fleet.settle()

    assert stage.active(CLUSTER, "c") == "True Active: Connected"


async def test_a_wrong_token_is_refused_and_a_right_one_connects_at_once(stage):
    good = stage.fleet["cluster1"].kubeconfig
    known = parse(good)
    bad = render("cluster1", server=known.server, ca=known.ca, token="wrong", user="u")
    stage.hub.namespace(SYSTEM)
    stage.connect("cluster1", bad)
    async with stage.multikueue():
        refused = stage.active(CLUSTER, "cluster1")
        stage.hub.change(Secret, "cluster1-secret", SYSTEM, data={"kubeconfig": encoded(good)})
        await stage.fleet.settle()

    assert refused == "False ClientConnectionFailed: Unauthorized"
    assert stage.active(CLUSTER, "cluster1") == "True Active: Connected"


async def test_attempts_are_5_10_20_seconds_apart(stage):
    stage.arrange("cluster1")
    stage.fleet.cut("cluster1")
    attempts = []
    stage.fleet["cluster1"].way.arrived = lambda what: None
    async with stage.multikueue():
        started = clock.monotonic()
        way = stage.fleet["cluster1"].way
        real = way.pass_through

        async def noted(request, timeout):
            attempts.append(round(clock.monotonic() - started))
            return await real(request, timeout)

        way.pass_through = noted
        await stage.fleet.advance(700)

    assert attempts == [5, 15, 35, 75, 155, 315, 635]
    assert stage.active(CLUSTER, "cluster1").startswith("False ClientConnectionFailed: ")


async def test_a_cut_connection_is_told_when_it_does_not_come_back_at_once(stage):
    stage.arrange()
    async with stage.multikueue():
        await stage.fleet.advance(10)
        stage.fleet["cluster1"].way.break_streams()
        await stage.fleet.settle()
        after_break = stage.active(CLUSTER, "cluster1")
        stage.fleet.cut("cluster1")
        await stage.fleet.advance(1)
        after_cut = stage.active(CLUSTER, "cluster1")
        stage.fleet.heal("cluster1")
        await stage.fleet.advance(20)

    assert after_break == "True Active: Connected"
    assert after_cut.startswith("False ClientConnectionFailed: ")
    assert stage.active(CLUSTER, "cluster1") == "True Active: Connected"


@pytest.mark.parametrize("turns", range(12), ids=lambda turns: f"{turns} turns later")
async def test_a_connection_that_breaks_at_the_very_moment_at_which_it_is_given_up_ends(stage, turns):
    stage.arrange()
    async with stage.multikueue():
        await stage.fleet.advance(10)
        stage.fleet.cut("cluster1")
        (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "worker cluster1"]
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        stage.fleet.heal("cluster1")
        await stage.fleet.advance(60)

        assert task.cancelled()


async def test_a_deleted_cluster_is_disconnected(stage):
    stage.arrange()
    async with stage.multikueue():
        open_before = stage.fleet["cluster1"].open_watches
        stage.hub.remove(CLUSTER, "cluster1")
        await stage.fleet.settle()
        open_after = stage.fleet["cluster1"].open_watches

    assert (open_before, open_after) == (2, 0)


async def test_a_silent_worker_does_not_hold_up_another(stage):
    stage.arrange()
    stage.fleet.cut("cluster1", silently=True)
    async with stage.multikueue():
        stage.submit()
        await stage.fleet.settle()
        stage.admit("cluster2")
        await stage.fleet.settle()

    assert stage.workload().status.cluster_name == "cluster2"
    assert stage.has_job() == ["cluster2"]


async def test_a_worker_that_falls_silent_does_not_hold_up_another(stage):
    stage.arrange()
    async with stage.multikueue():
        stage.fleet.cut("cluster1", silently=True)
        for number in range(40):
            stage.submit(f"j{number}")
        await stage.fleet.settle()
        for number in range(40):
            stage.admit("cluster2", f"j{number}")
        await stage.fleet.settle()

    placed = [stage.workload(f"j{number}").status.cluster_name for number in range(40)]
    assert placed == ["cluster2"] * 40


async def test_a_worker_without_a_kind_is_told_as_kueue_tells_it(stage):
    stage.arrange("cluster1")
    stage.fleet["cluster1"].remove(CustomResourceDefinition, "workloads.kueue.x-k8s.io")
    async with stage.multikueue():
        pass

    said = stage.active(CLUSTER, "cluster1")
    assert said == 'False ClientConnectionFailed: no matches for kind "Workload" in version "kueue.x-k8s.io/v1beta2"'


async def test_a_file_is_read_and_looked_at_again(stage, tmp_path):
    path = tmp_path / "kubeconfig"
    stage.hub.namespace(SYSTEM)
    source = {"location": str(path), "locationType": "Path"}
    stage.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": source}}))
    async with stage.multikueue():
        missing = stage.active(CLUSTER, "c")
        path.write_text(stage.fleet["cluster1"].kubeconfig)
        await stage.fleet.advance(6)

    told = [event for event in stage.hub.list(Event)]
    assert missing == f"False BadKubeConfig: load client config failed: open {path}: no such file or directory"
    assert stage.active(CLUSTER, "c") == "True Active: Connected"
    assert len(told) == 1


async def test_files_may_be_confined_to_a_folder(stage, tmp_path):
    folder = tmp_path / "allowed"
    folder.mkdir()
    (tmp_path / "kubeconfig").write_text(stage.fleet["cluster1"].kubeconfig)
    (folder / "link").symlink_to(tmp_path / "kubeconfig")
    stage.hub.namespace(SYSTEM)
    source = {"location": str(folder / "link"), "locationType": "Path"}
    stage.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": source}}))

    async with stage.multikueue(kubeconfig_folder=folder):
        pass

    assert "kubeconfig path is not under the allowed prefix" in stage.active(CLUSTER, "c")


class TestProfiles:
    PROVIDERS = ({"name": "secretreader", "execConfig": {"command": "reads", "apiVersion": "v1"}},)

    def arrange(self, stage, provider="secretreader"):
        stage.hub.namespace(SYSTEM)
        connection = parse(stage.fleet["cluster1"].kubeconfig)
        cluster = {"server": connection.server, "certificate-authority-data": base64.b64encode(connection.ca).decode()}
        status = {"accessProviders": [{"name": provider, "cluster": cluster}]}
        spec = {"displayName": "p", "clusterManager": {"name": "m"}}
        stage.hub.add(
            ClusterProfile.manifest("p", SYSTEM, spec=spec, status=status),
            CLUSTER.manifest("c", spec={"clusterSource": {"clusterProfileRef": {"name": "p"}}}),
        )
        return connection

    async def test_the_gate_must_be_on(self, stage):
        self.arrange(stage)
        async with stage.multikueue():
            pass

        assert stage.active(CLUSTER, "c") == (
            "False MultiKueueClusterProfileFeatureDisabled: load client config failed: "
            "MultiKueueClusterProfile feature gate is disabled"
        )

    async def test_a_program_gives_the_credential_and_is_asked_again_when_it_ends(self, stage):
        connection = self.arrange(stage)
        asked = []

        async def run_plugin(plugin, about):
            asked.append((plugin.command, about.server))
            return Credential(connection.token, expires=clock.now() + timedelta(minutes=10))

        async with stage.multikueue(run_plugin=run_plugin, serves_profiles=True, access_providers=self.PROVIDERS):
            first = list(asked)
            await stage.fleet.advance(660)

        assert first == [("reads", connection.server)]
        assert len(asked) == 2
        assert stage.active(CLUSTER, "c") == "True Active: Connected"

    async def test_a_program_that_fails_is_told(self, stage):
        self.arrange(stage)

        async def run_plugin(plugin, about):
            raise errors.Unreachable("exec plugin failed")

        async with stage.multikueue(run_plugin=run_plugin, serves_profiles=True, access_providers=self.PROVIDERS):
            pass

        assert stage.active(CLUSTER, "c") == "False ClientConnectionFailed: exec plugin failed"

    @pytest.mark.parametrize(
        ("provider", "providers", "why"),
        [
            ("secretreader", (), "no access provider configured"),
            ("other", PROVIDERS, 'no matching cluster accessor found for cluster profile "p"'),
            ("x", ({"name": "x"},), 'no exec config found for provider "x"'),
        ],
    )
    async def test_a_profile_without_a_way_is_told(self, stage, provider, providers, why):
        self.arrange(stage, provider)
        async with stage.multikueue(serves_profiles=True, access_providers=providers):
            pass

        assert stage.active(CLUSTER, "c") == f"False BadClusterProfile: load client config failed: {why}"

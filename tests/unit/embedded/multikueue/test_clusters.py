"""MultiKueueClusters: how they are reached, what they say of it, and how a connection comes back."""

import asyncio
import base64
from datetime import timedelta
from typing import ClassVar

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

pytestmark = pytest.mark.fleet(scenario="api")
CLUSTER = kueue.MultiKueueCluster


async def test_a_cluster_with_a_good_kubeconfig_is_connected(env):
    env.arrange()
    async with env.multikueue():
        pass

    assert env.active(CLUSTER, "cluster1") == "True Active: Connected"
    assert env.hub.get(CLUSTER, "cluster1").status.conditions[0].observed_generation == 1


async def test_a_second_look_writes_nothing(env):
    env.arrange()
    async with env.multikueue():
        await env.fleet.advance(120)
        env.hub.writes.clear()
        await env.fleet.advance(3600)

    assert env.hub.writes == []
    assert all(worker.writes == [] for worker in env.workers)


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
async def test_a_source_that_cannot_be_used_is_told(env, data, said):
    env.hub.namespace(SYSTEM)
    env.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": {"location": "x"}}}))
    if data is not None:
        env.hub.add({**Secret.manifest("x", SYSTEM), "data": data})

    async with env.multikueue():
        pass

    assert env.active(CLUSTER, "c") == said


async def test_a_secret_that_comes_later_connects(env):
    env.hub.namespace(SYSTEM)
    env.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": {"location": "x"}}}))
    async with env.multikueue():
        data = {"kubeconfig": encoded(env.fleet["cluster1"].kubeconfig)}
        env.hub.add({**Secret.manifest("x", SYSTEM), "data": data})
        await env.fleet.settle()

    assert env.active(CLUSTER, "c") == "True Active: Connected"


async def test_a_wrong_token_is_refused_and_a_right_one_connects_at_once(env):
    good = env.fleet["cluster1"].kubeconfig
    known = parse(good)
    bad = render("cluster1", server=known.server, ca=known.ca, token="wrong", user="u")
    env.hub.namespace(SYSTEM)
    env.connect("cluster1", bad)
    async with env.multikueue():
        refused = env.active(CLUSTER, "cluster1")
        env.hub.change(Secret, "cluster1-secret", SYSTEM, data={"kubeconfig": encoded(good)})
        await env.fleet.settle()

    assert refused == "False ClientConnectionFailed: Unauthorized"
    assert env.active(CLUSTER, "cluster1") == "True Active: Connected"


async def test_attempts_are_5_10_20_seconds_apart(env):
    env.arrange("cluster1")
    env.fleet.cut("cluster1")
    attempts = []
    env.fleet["cluster1"].way.arrived = lambda what: None
    async with env.multikueue():
        started = clock.monotonic()
        way = env.fleet["cluster1"].way
        real = way.pass_through

        async def noted(request, timeout):
            attempts.append(round(clock.monotonic() - started))
            return await real(request, timeout)

        way.pass_through = noted
        await env.fleet.advance(700)

    assert attempts == [5, 15, 35, 75, 155, 315, 635]
    assert env.active(CLUSTER, "cluster1").startswith("False ClientConnectionFailed: ")


async def test_a_cut_connection_is_told_when_it_does_not_come_back_at_once(env):
    env.arrange()
    async with env.multikueue():
        await env.fleet.advance(10)
        env.fleet["cluster1"].way.break_streams()
        await env.fleet.settle()
        after_break = env.active(CLUSTER, "cluster1")
        env.fleet.cut("cluster1")
        await env.fleet.advance(1)
        after_cut = env.active(CLUSTER, "cluster1")
        env.fleet.heal("cluster1")
        await env.fleet.advance(20)

    assert after_break == "True Active: Connected"
    assert after_cut.startswith("False ClientConnectionFailed: ")
    assert env.active(CLUSTER, "cluster1") == "True Active: Connected"


@pytest.mark.parametrize("turns", range(12), ids=lambda turns: f"{turns} turns later")
async def test_a_connection_that_breaks_at_the_very_moment_at_which_it_is_given_up_ends(env, turns):
    env.arrange()
    async with env.multikueue():
        await env.fleet.advance(10)
        env.fleet.cut("cluster1")
        (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "worker cluster1"]
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        env.fleet.heal("cluster1")
        await env.fleet.advance(60)

        assert task.cancelled()


async def test_a_deleted_cluster_is_disconnected(env):
    env.arrange()
    async with env.multikueue():
        open_before = env.fleet["cluster1"].open_watches
        env.hub.remove(CLUSTER, "cluster1")
        await env.fleet.settle()
        open_after = env.fleet["cluster1"].open_watches

    assert (open_before, open_after) == (2, 0)


async def test_a_silent_worker_does_not_hold_up_another(env):
    env.arrange()
    env.fleet.cut("cluster1", silently=True)
    async with env.multikueue():
        env.submit()
        await env.fleet.settle()
        env.admit("cluster2")
        await env.fleet.settle()

    assert env.workload().status.cluster_name == "cluster2"
    assert env.has_job() == ["cluster2"]


async def test_a_worker_that_falls_silent_does_not_hold_up_another(env):
    env.arrange()
    async with env.multikueue():
        env.fleet.cut("cluster1", silently=True)
        for number in range(40):
            env.submit(f"j{number}")
        await env.fleet.settle()
        for number in range(40):
            env.admit("cluster2", f"j{number}")
        await env.fleet.settle()

    placed = [env.workload(f"j{number}").status.cluster_name for number in range(40)]
    assert placed == ["cluster2"] * 40


async def test_a_worker_without_a_kind_is_told_as_kueue_tells_it(env):
    env.arrange("cluster1")
    env.fleet["cluster1"].remove(CustomResourceDefinition, "workloads.kueue.x-k8s.io")
    async with env.multikueue():
        pass

    said = env.active(CLUSTER, "cluster1")
    assert said == 'False ClientConnectionFailed: no matches for kind "Workload" in version "kueue.x-k8s.io/v1beta2"'


async def test_a_file_is_read_and_looked_at_again(env, tmp_path):
    path = tmp_path / "kubeconfig"
    env.hub.namespace(SYSTEM)
    source = {"location": str(path), "locationType": "Path"}
    env.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": source}}))
    async with env.multikueue():
        missing = env.active(CLUSTER, "c")
        path.write_text(env.fleet["cluster1"].kubeconfig)
        await env.fleet.advance(6)

    told = [event for event in env.hub.list(Event)]
    assert missing == f"False BadKubeConfig: load client config failed: open {path}: no such file or directory"
    assert env.active(CLUSTER, "c") == "True Active: Connected"
    assert len(told) == 1


async def test_files_may_be_confined_to_a_folder(env, tmp_path):
    folder = tmp_path / "allowed"
    folder.mkdir()
    (tmp_path / "kubeconfig").write_text(env.fleet["cluster1"].kubeconfig)
    (folder / "link").symlink_to(tmp_path / "kubeconfig")
    env.hub.namespace(SYSTEM)
    source = {"location": str(folder / "link"), "locationType": "Path"}
    env.hub.add(CLUSTER.manifest("c", spec={"clusterSource": {"kubeConfig": source}}))

    async with env.multikueue(kubeconfig_folder=folder):
        pass

    assert "kubeconfig path is not under the allowed prefix" in env.active(CLUSTER, "c")


class TestProfiles:
    PROGRAM: ClassVar = {"command": "reads", "apiVersion": "client.authentication.k8s.io/v1"}
    PROVIDERS = ({"name": "secretreader", "execConfig": PROGRAM},)

    def arrange(self, env, provider="secretreader"):
        env.hub.namespace(SYSTEM)
        connection = parse(env.fleet["cluster1"].kubeconfig)
        cluster = {"server": connection.server, "certificate-authority-data": base64.b64encode(connection.ca).decode()}
        status = {"accessProviders": [{"name": provider, "cluster": cluster}]}
        spec = {"displayName": "p", "clusterManager": {"name": "m"}}
        env.hub.add(
            ClusterProfile.manifest("p", SYSTEM, spec=spec, status=status),
            CLUSTER.manifest("c", spec={"clusterSource": {"clusterProfileRef": {"name": "p"}}}),
        )
        return connection

    async def test_the_gate_must_be_on(self, env):
        self.arrange(env)
        async with env.multikueue():
            pass

        assert env.active(CLUSTER, "c") == (
            "False MultiKueueClusterProfileFeatureDisabled: load client config failed: "
            "MultiKueueClusterProfile feature gate is disabled"
        )

    async def test_a_program_gives_the_credential_and_is_asked_again_when_it_ends(self, env):
        connection = self.arrange(env)
        asked = []

        async def run_plugin(plugin, about):
            asked.append((plugin.command, about.server))
            return Credential(connection.token, expires=clock.now() + timedelta(minutes=10))

        async with env.multikueue(run_plugin=run_plugin, serves_profiles=True, access_providers=self.PROVIDERS):
            first = list(asked)
            await env.fleet.advance(660)

        assert first == [("reads", connection.server)]
        assert len(asked) == 2
        assert env.active(CLUSTER, "c") == "True Active: Connected"

    async def test_a_program_that_fails_is_told(self, env):
        server = self.arrange(env).server

        async def run_plugin(plugin, about):
            raise errors.Unreachable("exec: executable reads not found")

        async with env.multikueue(run_plugin=run_plugin, serves_profiles=True, access_providers=self.PROVIDERS):
            pass

        assert env.active(CLUSTER, "c") == (
            f'False ClientConnectionFailed: failed to get server groups: Get "{server}/api": getting credentials: '
            "exec: executable reads not found"
        )

    async def test_a_program_of_an_unknown_version_is_not_asked(self, env):
        self.arrange(env)
        providers = ({"name": "secretreader", "execConfig": {**self.PROGRAM, "apiVersion": "v1"}},)

        async with env.multikueue(run_plugin=pytest.fail, serves_profiles=True, access_providers=providers):
            pass

        assert env.active(CLUSTER, "c") == 'False ClientConnectionFailed: exec plugin: invalid apiVersion "v1"'

    @pytest.mark.parametrize(
        ("provider", "providers", "why"),
        [
            ("secretreader", (), "no access provider configured"),
            ("other", PROVIDERS, 'no matching cluster accessor found for cluster profile "p"'),
            ("x", ({"name": "x"},), 'no exec config found for provider "x"'),
        ],
    )
    async def test_a_profile_without_a_way_is_told(self, env, provider, providers, why):
        self.arrange(env, provider)
        async with env.multikueue(serves_profiles=True, access_providers=providers):
            pass

        assert env.active(CLUSTER, "c") == f"False BadClusterProfile: load client config failed: {why}"

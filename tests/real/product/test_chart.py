"""The chart, by real Helm on a real hub: installed, upgraded, rolled back and uninstalled while a job runs.

There is no kubelet, so nobody starts the pods of the Deployment: the test does, with the arguments, the settings, the
account and the memory limit that it has (as a limit of the process, since there is no cgroup). Not enforced here: the
user, the read-only file system, seccomp, and the NetworkPolicy.
"""

import asyncio
import json
import sys

import pytest_asyncio
import yaml

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap, Secret
from fleetqueue.api.quantity import parse as amount
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.api.scheme import Resource
from fleetqueue.client.kubeconfig import load, render
from fleetqueue.controllers.processes.settings import HubSettings
from fleetqueue.controllers.processes.settings_file import parse
from fleetqueue.manifests import folder
from tests.deploy import built_tools

NAMESPACE, NAME = "fleetqueue-system", "fleetqueue-controller"
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")
ADD_ONS = Resource(
    "addon.open-cluster-management.io",
    "v1alpha1",
    "ClusterManagementAddOn",
    "clustermanagementaddons",
    namespaced=False,
)
VALUES = {
    "image": {"repository": "registry.example.com/fleetqueue"},
    "controller": {
        "settings": {
            "probes": {"host": "127.0.0.1", "port": 0},
            "leader_election": {"duration": 4, "renew_deadline": 3, "retry": 0.5},
            "placement_admission": {"drain_poll": 0.5, "linger": 0.5},
        }
    },
    "scoreAgent": {"addOn": {"enabled": True}},
}


class Release:
    """The chart on the hub, and the process that its Deployment asks for."""

    def __init__(self, env, tmp_path):
        self.env = env
        self.folder = tmp_path
        self.kubeconfig = env.world.fleet.clusters["hub"].kubeconfig
        self.values = tmp_path / "values.yaml"
        self.values.write_text(yaml.safe_dump(VALUES))
        self.processes = []

    async def helm(self, *words):
        command = (built_tools.helm(), *words, "--namespace", NAMESPACE, "--kubeconfig", self.kubeconfig)
        process = await asyncio.create_subprocess_exec(
            *map(str, command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, said.decode()
        return said.decode()

    async def deployment(self):
        return await self.env.hub.get(DEPLOYMENTS, NAME, NAMESPACE)

    async def settings(self):
        raw = await self.env.hub.get(ConfigMap.resource, NAME, NAMESPACE)
        return raw["data"]["settings.yaml"]

    async def run(self, name):
        """Start what a pod of the Deployment would run; wait until it leads and works."""
        pod = (await self.deployment())["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        mounted = self.folder / f"{name}-settings"
        mounted.mkdir()
        (mounted / "settings.yaml").write_text(await self.settings())
        (place,) = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "settings"]
        arguments = [word.replace(place, str(mounted)) for word in container["args"]]
        own = self.folder / f"{name}.kubeconfig"
        own.write_text(await self._kubeconfig(pod["serviceAccountName"]))
        kilobytes = int(amount(container["resources"]["limits"]["memory"])) // 1024
        log = self.folder / f"{name}.log"
        with log.open("w") as file:
            process = await asyncio.create_subprocess_exec(
                *("bash", "-c", f'ulimit -d {kilobytes}; exec "$@"', "pod"),
                *(sys.executable, "-m", "fleetqueue", *arguments, "--kubeconfig", str(own)),
                stderr=file,
            )
        self.processes.append(process)

        async def works():
            assert process.returncode is None, log.read_text()
            return "working" in log.read_text()

        await self.env.eventually(works, f"the controller of {name} works")
        return process

    async def _kubeconfig(self, account):
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        token = (await self.env.hub.post(path, request))["status"]["token"]
        connection = load(self.kubeconfig)
        return render("hub", server=connection.server, ca=connection.ca or b"", token=token, user=account)

    async def stop(self, process):
        if process.returncode is None:
            process.terminate()
        return await asyncio.wait_for(process.wait(), 30)


@pytest_asyncio.fixture(loop_scope="session")
async def release(env, tmp_path):
    release = Release(env, tmp_path)
    yield release
    for process in release.processes:
        await release.stop(process)
    await env.world.give_shipped_roles()


async def test_a_release_comes_changes_and_goes_while_a_job_runs(env, release):
    chart = folder("deploy") / "charts" / "fleetqueue"
    given = ("--values", release.values)

    await release.helm("install", "fleetqueue", chart, *given, "--take-ownership")
    first = await release.run("installed")
    await env.submit("job")
    place = await env.running_on("job")
    installed, before = await release.settings(), await release.deployment()

    timeout = "controller.settings.placement_admission.drain_timeout=600"
    await release.helm("upgrade", "fleetqueue", chart, "--reset-then-reuse-values", "--set", timeout)
    upgraded, after = await release.settings(), await release.deployment()
    second = await release.run("upgraded") if await release.stop(first) == 0 else None
    await env.submit("second", run_for="1s")
    await env.finished("second")

    await release.helm("rollback", "fleetqueue", "1")
    rolled_back = await release.settings()
    history = json.loads(await release.helm("history", "fleetqueue", "--output", "json"))
    assert await release.stop(second) == 0
    third = await release.run("rolled-back")
    await env.submit("third", run_for="1s")
    await env.finished("third")

    await env.submit("short", run_for="8s")
    await env.running_on("short")
    await release.stop(third)
    await release.helm("uninstall", "fleetqueue")
    left = await env.workload("job")

    assert parse(HubSettings, yaml.safe_load(upgraded)).placement_admission.drain_timeout == 600
    assert rolled_back == installed
    assert before["spec"]["template"] != after["spec"]["template"], "a change of settings rolls the pods"
    assert [each["status"] for each in history] == ["superseded", "superseded", "deployed"]
    assert left.status.cluster_name == f"{env.name}-{place}"
    assert not left.is_true(kueue.EVICTED)
    assert env.witness.live(f"{env.name}/job") == {place}
    await env.finished("short")
    assert await env.config() is not None, "what the controller made stays"
    assert await env.get(Secret, f"kueue-admin-{place}-kubeconfig", "kueue-system") is not None
    assert await env.get(ClusterRole, NAME) is None
    for resource in (DEPLOYMENTS, ADD_ONS):
        assert [each for each in (await env.hub.list(resource)).items if "fleetqueue" in each["metadata"]["name"]] == []

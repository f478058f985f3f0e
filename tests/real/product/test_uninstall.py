"""The way out with jobs running: they end normally, Kueue dispatches by itself again, nothing of ours stays."""

import asyncio
import sys

from fleetqueue.admin.dispatcher import RESTART_BY_HAND
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.controllers.placement_admission.names import FINALIZER
from fleetqueue.runtime.cluster import is_ours, is_released

ALL = {"cluster1", "cluster2", "cluster3"}
FAST = {"placement_admission.drain_poll": 0.5, "placement_admission.linger": 0.5}


async def uninstall(env, *options):
    """Run the command as an administrator would; return its exit code and what it said."""
    kubeconfig = str(env.world.fleet.clusters["hub"].kubeconfig)
    command = ("-m", "fleetqueue", "uninstall", "--timeout", "20", "--kubeconfig", kubeconfig)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, said.decode()


async def test_jobs_outlive_us_and_kueue_dispatches_by_itself(env):
    replica = await env.replica("leaving", **FAST)
    await replica.works()
    await env.submit("job", run_for="25s")
    place = await env.running_on("job")
    await env.select(*(ALL - {place}))  # it even drains
    await env.says("Draining", "True")

    await replica.stop()
    code, said = await uninstall(env, "--detach-checks")
    again, _ = await uninstall(env, "--detach-checks")
    await env.world.fleet.restart("hub/kueue")  # no Deployment here that the command could restart
    done, _ = await uninstall(env, "--detach-checks", "--kueue-restarted")
    await env.submit("new", run_for="2s")
    await env.finished("new")
    await env.finished("job")

    check = await env.get(kueue.AdmissionCheck, env.name)
    queue = await env.hub.get(kueue.ClusterQueue.resource, env.name)
    checks = queue["spec"]["admissionChecksStrategy"]["admissionChecks"]
    assert (code, again, done) == (3, 3, 0), said
    assert RESTART_BY_HAND in said
    assert [entry["name"] for entry in checks] == [f"{env.name}-mk"]
    assert check is None or FINALIZER not in check.metadata.finalizers
    assert (await env.workload("job")).status.cluster_name == f"{env.name}-{place}"
    assert env.witness.doubles == []


async def test_what_a_purge_let_go_is_taken_back_with_its_jobs(env):
    replica = await env.replica("before", **FAST)
    await replica.works()
    await env.submit("job", run_for="20s")
    place = await env.running_on("job")
    await replica.stop()

    await uninstall(env, "--purge", "--namespace", "elsewhere")  # the fleet's admin kubeconfigs stay
    released = await env.config()
    await env.world.set_dispatcher(DISPATCHER_NAME)
    replica = await env.replica("after", **FAST)
    try:
        await replica.works()
        await env.submit("new", run_for="2s")
        await env.finished("new")
        await env.finished("job")
    finally:
        await replica.stop()

    assert is_released(released)
    assert is_ours(await env.config())
    assert (await env.workload("job")).status.cluster_name == f"{env.name}-{place}"

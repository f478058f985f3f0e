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


async def uninstall(stage, *options):
    """Run the command as an administrator would; return its exit code and what it said."""
    kubeconfig = str(stage.world.fleet.clusters["hub"].kubeconfig)
    command = ("-m", "fleetqueue", "uninstall", "--timeout", "20", "--kubeconfig", kubeconfig)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, said.decode()


async def test_jobs_outlive_us_and_kueue_dispatches_by_itself(stage):
    replica = await stage.replica("leaving", **FAST)
    await replica.works()
    await stage.submit("job", run_for="25s")
    place = await stage.running_on("job")
    await stage.select(*(ALL - {place}))  # it even drains
    await stage.says("Draining", "True")

    await replica.stop()
    code, said = await uninstall(stage, "--detach-checks")
    again, _ = await uninstall(stage, "--detach-checks")
    await stage.world.fleet.restart("hub/kueue")  # no Deployment here that the command could restart
    done, _ = await uninstall(stage, "--detach-checks", "--kueue-restarted")
    await stage.submit("new", run_for="2s")
    await stage.finished("new")
    await stage.finished("job")

    check = await stage.get(kueue.AdmissionCheck, stage.name)
    queue = await stage.hub.get(kueue.ClusterQueue.resource, stage.name)
    checks = queue["spec"]["admissionChecksStrategy"]["admissionChecks"]
    assert (code, again, done) == (3, 3, 0), said
    assert RESTART_BY_HAND in said
    assert [entry["name"] for entry in checks] == [f"{stage.name}-mk"]
    assert check is None or FINALIZER not in check.metadata.finalizers
    assert (await stage.workload("job")).status.cluster_name == f"{stage.name}-{place}"
    assert stage.witness.doubles == []


async def test_what_a_purge_let_go_is_taken_back_with_its_jobs(stage):
    replica = await stage.replica("before", **FAST)
    await replica.works()
    await stage.submit("job", run_for="20s")
    place = await stage.running_on("job")
    await replica.stop()

    await uninstall(stage, "--purge", "--namespace", "elsewhere")  # the fleet's admin kubeconfigs stay
    released = await stage.config()
    await stage.world.set_dispatcher(DISPATCHER_NAME)
    replica = await stage.replica("after", **FAST)
    try:
        await replica.works()
        await stage.submit("new", run_for="2s")
        await stage.finished("new")
        await stage.finished("job")
    finally:
        await replica.stop()

    assert is_released(released)
    assert is_ours(await stage.config())
    assert (await stage.workload("job")).status.cluster_name == f"{stage.name}-{place}"

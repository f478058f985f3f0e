"""The agent renews while it reaches the hub, and stops what it promised to stop when it does not."""

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.authentication_v1 import SELF_REVIEWS
from fleetqueue.api.authorization_v1 import REVIEWS
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fence import LEASE, PASSED, SENT_TO, STOPPED
from fleetqueue.client import Client
from fleetqueue.controllers.fence.agent import FenceAgent
from fleetqueue.controllers.fence.promise import read
from fleetqueue.controllers.fence.settings import FenceSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition, pod_template
from fleetqueue.testing.virtual_time import VirtualClock, advance, running

OWN = "fleetqueue-system"
AFTER = 60.0


@pytest.fixture
def worker_api(new_api):
    api = new_api()
    api.namespace(OWN)
    return api


@pytest.fixture
def hub_api(api):
    api.namespace("c1")
    return api


class Site:
    """A hub and a worker, and the agent between them."""

    def __init__(self, hub, worker):
        self.hub = hub
        self.worker = worker

    async def run(self, after=AFTER):
        """Let an agent work, which turns every second."""
        worker, hub = Cluster("c1", Client(self.worker)), Cluster("hub", Client(self.hub))
        agent = FenceAgent(worker, hub, Metrics(), FenceSettings(after=after), namespace=OWN, add_on="")
        await agent.run()

    def lease(self):
        return self.hub.get(Lease, LEASE, "c1")

    def promise(self):
        return read(self.worker.raw(Lease, LEASE, OWN))

    def copy(self, name="job", *, lease=None, conditions=("QuotaReserved",), origin="multikueue"):
        """Put a copy on the worker, and its Job, as Kueue does."""
        self.worker.add(Job.manifest(name, "team-a", spec={"template": pod_template()}))
        job = self.worker.get(Job, name, "team-a")
        manifest = kueue.Workload.manifest(
            f"job-{name}",
            "team-a",
            labels={kueue.ORIGIN_LABEL: origin},
            annotations={SENT_TO: f'{{"gpu-c1":"{self.lease().uid if lease is None else lease}"}}'},
            spec={"active": True},
            status={"conditions": [condition(kind) for kind in conditions]},
        )
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job.uid, "controller": True}
        manifest["metadata"]["ownerReferences"] = [owner]
        self.worker.add(manifest)

    def found(self, name="job"):
        return self.worker.get(kueue.Workload, f"job-{name}", "team-a")

    def is_active(self, name="job"):
        return self.found(name).spec.active

    def stop(self, name="job"):
        """Let Kueue give back the quota of a copy, as it does when the job has stopped."""
        self.worker.change(kueue.Workload, f"job-{name}", "team-a", status={"conditions": []})


@pytest.fixture
def site(hub_api, worker_api):
    return Site(hub_api, worker_api)


async def test_it_renews_a_lease_on_the_hub_and_writes_down_what_it_promised(site):
    async with running(site.run()):
        await advance(1)
        first = site.lease()
        await advance(AFTER)

        assert first.spec.lease_duration_seconds == AFTER
        assert site.lease().spec.renew_time > first.spec.renew_time
        assert site.promise().lease == first.uid
        assert site.promise().duration == AFTER


async def test_the_lease_is_written_down_before_it_is_renewed(site):
    site.worker.fail_on("create leases/*", errors.Forbidden("no"))

    async with running(site.run()):
        await advance(30)

        assert site.lease().spec.renew_time is None


@pytest.mark.parametrize(
    ("username", "owners"),
    [
        pytest.param(f"system:serviceaccount:{OWN}:agent", ["agent"], id="its account"),
        pytest.param("system:serviceaccount:elsewhere:agent", [], id="an account that cannot own it"),
        pytest.param("kubernetes-admin", [], id="a person"),
    ],
)
async def test_what_it_wrote_down_goes_with_its_account(site, username, owners):
    site.worker.answers[f"POST {SELF_REVIEWS}"] = {"status": {"userInfo": {"username": username, "uid": "u1"}}}

    async with running(site.run()):
        await advance(1)

        written = site.worker.get(Lease, LEASE, OWN)
        assert [owner.name for owner in written.metadata.owner_references] == owners


async def test_while_all_is_well_it_only_renews(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.writes.clear()
        site.worker.writes.clear()
        await advance(10 * AFTER)

        assert set(site.hub.writes) == {f"patch leases/c1/{LEASE}"}
        assert set(site.worker.writes) == {f"patch leases/{OWN}/{LEASE}"}
        assert 50 < len(site.hub.writes) < 80


async def test_an_agent_that_may_not_stop_jobs_promises_nothing(site):
    site.worker.answers[f"POST {REVIEWS}"] = {"status": {"allowed": False}}

    async with running(site.run()):
        await advance(30)
        assert site.lease() is None
        del site.worker.answers[f"POST {REVIEWS}"]
        await advance(5)

        assert site.lease() is not None


async def test_what_was_promised_is_stopped_when_the_hub_is_silent_for_too_long(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.cut()
        await advance(AFTER - 15)
        assert site.is_active()
        await advance(20)
        assert not site.is_active()
        assert STOPPED in site.found().metadata.annotations
        site.stop()
        await advance(5)

        assert site.found() is None
        assert site.worker.get(Job, "job", "team-a") is None
        (event,) = [site.worker.raw(Event, e.name, e.namespace) for e in site.worker.list(Event)]
        assert event["reason"] == "Fenced"


async def test_what_kueue_does_not_stop_in_time_is_deleted(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.cut()
        await advance(AFTER + 30)

        assert site.worker.get(Job, "job", "team-a") is None
        assert site.found() is None


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"lease": "uid-of-another"}, id="in trust of another Lease"),
        pytest.param({"lease": ""}, id="in trust of none"),
        pytest.param({"conditions": ("Finished",)}, id="it has ended"),
    ],
)
async def test_what_is_left_alone(site, options):
    async with running(site.run()):
        await advance(1)
        site.copy(**options)
        site.hub.cut()
        await advance(AFTER * 3)

        assert site.is_active()


async def test_while_the_hub_acknowledges_nothing_is_stopped(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        await advance(AFTER * 10)

        assert site.is_active()


async def test_a_silence_that_is_shorter_stops_nothing(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        for _ in range(5):
            site.hub.cut(silently=True)
            await advance(AFTER - 20)
            site.hub.heal()
            await advance(15)

        assert site.is_active()


async def test_a_copy_that_arrives_too_late_is_stopped_too(site):
    async with running(site.run()):
        await advance(1)
        site.hub.cut()
        await advance(AFTER + 10)
        site.copy()
        await advance(10)

        assert not site.is_active()


async def test_what_was_begun_to_be_stopped_is_ended_after_the_hub_is_back(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.cut()
        await advance(AFTER + 2)
        site.hub.heal()
        await advance(10)
        assert not site.is_active()
        site.stop()
        await advance(10)

        assert site.found() is None


async def test_a_restarted_agent_knows_its_deadline(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.cut()
        await advance(AFTER / 2)

    async with running(site.run()):
        await advance(AFTER / 2 - 15)
        assert site.is_active()
        await advance(20)

        assert not site.is_active()


async def test_a_restarted_agent_ends_what_was_begun(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.cut()
        await advance(AFTER + 2)
    assert not site.is_active()
    site.hub.heal()

    async with running(site.run()):
        await advance(30)

        assert site.found() is None


async def test_after_another_boot_it_stops_what_it_promised_unless_the_hub_answers_soon(site):
    with clock.use(Booted("first")):
        async with running(site.run()):
            await advance(1)
            site.copy()
    site.hub.cut()

    with clock.use(Booted("second")):
        async with running(site.run()):
            await advance(10)
            assert site.is_active()
            await advance(20)

            assert not site.is_active()


async def test_after_another_boot_nothing_is_stopped_where_the_hub_answers(site):
    with clock.use(Booted("first")):
        async with running(site.run()):
            await advance(1)
            site.copy()

    with clock.use(Booted("second")):
        async with running(site.run()):
            await advance(AFTER * 3)

            assert site.is_active()


async def test_time_counts_while_the_machine_is_suspended(site):
    machine = Booted("boot")
    with clock.use(machine):
        async with running(site.run()):
            await advance(1)
            site.copy()
            site.hub.cut()
            machine.suspended += AFTER
            await advance(10)

            assert not site.is_active()


async def test_a_machine_that_wakes_and_reaches_the_hub_stops_nothing(site):
    machine = Booted("boot")
    with clock.use(machine):
        async with running(site.run()):
            await advance(1)
            site.copy()
            machine.suspended += 10 * AFTER
            await advance(30)

            assert site.is_active()


async def test_where_the_hub_let_jobs_go_elsewhere_all_is_stopped_before_the_mark_goes(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.change(Lease, LEASE, "c1", metadata={"annotations": {PASSED: "2026-01-01T00:00:00Z"}})
        await advance(15)
        assert not site.is_active()
        await advance(5)

        assert PASSED not in site.lease().metadata.annotations


async def test_a_renewal_that_comes_too_late_undoes_nothing(site):
    """One that an earlier start sent for a shorter time arrives after one of this start."""
    late = []

    async def on_its_way(request, **options):
        late.append(request)
        raise errors.Unreachable("it is on its way")

    async with running(site.run(after=20)):
        await advance(1)
        door = site.hub.request
        site.hub.request = on_its_way
        await advance(20)
    site.hub.request = door
    async with running(site.run()):
        await advance(1)
        for request in late:
            await door(request, timeout=1)

        assert site.lease().spec.lease_duration_seconds == AFTER


async def test_another_lease_of_the_name_is_another_promise(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        old = site.lease().uid
        site.hub.remove(Lease, LEASE, "c1")
        await advance(30)

        assert site.lease().uid not in ("", old)
        assert site.promise().lease == site.lease().uid
        site.hub.cut()
        await advance(AFTER * 2)
        assert site.is_active()  # whoever sent it waits for the worker: the Lease that it trusted is gone


@pytest.mark.parametrize("error", [errors.NotFound("a proxy's page"), errors.Conflict("of another")], ids=repr)
async def test_a_lease_that_seems_to_be_gone_is_still_promised(site, error):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.fail_on("patch leases/*", error, times=1)
        await advance(20)
        site.hub.cut()
        await advance(AFTER + 10)

        assert not site.is_active()


async def test_a_shorter_time_is_written_down_before_the_hub_learns_of_it(site):
    async with running(site.run()):
        await advance(1)
    site.hub.cut()

    async with running(site.run(after=20)):
        await advance(1)

    assert site.promise().duration == 20


async def test_a_lease_of_somebody_else_is_left_alone(site):
    site.hub.add(Lease.manifest(LEASE, "c1", spec={"holderIdentity": "somebody"}))

    async with running(site.run()):
        await advance(30)

        assert site.lease().spec.holder_identity == "somebody"


async def test_a_refused_renewal_is_no_acknowledgement(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.fail_on("patch leases/*", errors.Forbidden("no"))
        await advance(AFTER + 10)

        assert not site.is_active()


async def test_a_renewal_whose_answer_is_lost_does_not_count(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.fail_on("patch leases/*", errors.Unreachable("connection reset"), applied=True)
        await advance(AFTER + 10)

        assert not site.is_active()


async def test_while_the_worker_does_not_answer_it_is_tried_again(site):
    async with running(site.run()):
        await advance(1)
        site.copy()
        site.hub.cut()
        site.worker.cut()
        await advance(AFTER + 30)
        site.worker.heal()
        await advance(5)

        assert not site.is_active()


class Booted(VirtualClock):
    """A machine since a boot, which may be suspended."""

    def __init__(self, boot):
        super().__init__()
        self.name = boot
        self.suspended = 0.0

    def since_boot(self):
        return super().since_boot() + self.suspended

    def boot(self):
        return self.name


def test_what_it_is_told_must_leave_time_to_try_several_times():
    with pytest.raises(ValueError, match=r"must be 10\.0 s or more"):
        FenceSettings(after=5)


async def test_a_worker_without_kueue_has_nothing_to_stop(site):
    site.worker.fail_on("list workloads*", errors.NotFound("no such kind"))
    async with running(site.run()):
        await advance(1)
        site.hub.cut()
        await advance(AFTER * 2)
        site.hub.heal()
        await advance(10)

        assert (clock.now() - site.lease().spec.renew_time).total_seconds() < 15

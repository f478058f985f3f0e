"""What holds of topologies whatever the nodes, the queues and the Workloads are: played through, cycle after cycle.

In its turn a head is asked again for room, each pod set and each flavor alone and without places of pods, so that a
node may be given away twice in one cycle, as recorded of Kueue (`kueue_topology/one_cycle.yaml`). These are about
Workloads of one pod set in queues of one flavor, and cpu.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus
from fleetqueue.embedded.kueue.settings import FairSharingSettings

from .objects import NOON, condition, group, queue, quota
from .topology_objects import asking, cluster, node

QUEUES = ("q", "r", "s")
PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}}
NODES = st.dictionaries(
    st.builds("r{}/x{}{}".format, st.integers(1, 2), st.integers(1, 2), st.integers(1, 3)).filter(
        lambda path: path[1] == path[4]
    ),
    st.integers(1, 4),
    min_size=1,
    max_size=6,
)
ASKED = st.sampled_from([{"required": "rack"}, {"required": HOSTNAME}, {"preferred": "rack"}, {"unconstrained": True}])


@dataclass(frozen=True)
class Submitted:
    to: str
    pods: int
    cpu: int
    priority: int
    topology: dict


SUBMITTED = st.lists(
    st.builds(Submitted, st.sampled_from(QUEUES), st.integers(1, 5), st.integers(1, 2), st.integers(0, 2), ASKED),
    min_size=1,
    max_size=14,
)
FAIR = st.sampled_from([None, FairSharingSettings()])


class Play:
    """Runs cycles as the scheduler does, and does at once what they decide."""

    def __init__(self, sizes, quotas, fair, **spec):
        self.sizes = {path.split("/")[1]: cpu for path, cpu in sizes.items()}
        queues = [
            queue(name, group(default=quota(cpu)), cohort="c", **spec) for name, cpu in zip(QUEUES, quotas, strict=True)
        ]
        self.cache = cluster(*(node(path, str(cpu)) for path, cpu in sizes.items()), queues=queues, fair=fair)
        self.submitted = {}
        self.placed = {}
        """The pods of each Workload that runs on each node."""
        self.tried = []
        self.number = 0

    def submit(self, *submitted):
        for one in submitted:
            name = f"w{len(self.submitted)}"
            self.submitted[name] = one
            self.cache.set_workload(self._view(name, age=1000 - len(self.submitted)))

    def cycle(self):
        """Run one; return whether anything came of it."""
        self.number += 1
        heads = self.cache.heads()
        self.tried += [head.view.name for head in heads]
        now = NOON + timedelta(seconds=self.number)
        entries = Cycle(self.cache, self.number, now, self.cache.settings.fair_sharing).run(heads)
        for entry in entries:
            if entry.status is EntryStatus.ADMITTED:
                self._admit(entry)
                continue
            if entry.status is EntryStatus.PREEMPTS:
                self._preempt(entry)
            self.cache.back(entry.work, entry.why)
        return any(entry.status in (EntryStatus.ADMITTED, EntryStatus.PREEMPTS) for entry in entries)

    def used(self):
        """Return the cpus that are assigned on each node."""
        total = Counter()
        for name, pods in self.placed.items():
            total.update({at: count * self.submitted[name].cpu for at, count in pods.items()})
        return total

    def _admit(self, entry):
        name = entry.work.view.name
        assert name not in self.placed, "it is admitted twice"
        (part,) = entry.assignment.parts
        self.placed[name] = {domain.values[-1]: domain.pods for domain in part.placement.domains}
        self.cache.set_workload(self._view(name, given=part.manifest, version=1000 + self.number))

    def _preempt(self, entry):
        for target in entry.targets:
            name = target.candidate.work.view.name
            del self.placed[name]
            self.cache.set_workload(self._view(name, version=2000 + self.number))
        assert self.has_room_for(entry), "they went, and there is no room for whom they went"

    def has_room_for(self, entry):
        """Tell whether a Workload fits where it was placed, among those that are left."""
        (part,) = entry.assignment.parts
        used, cpu = self.used(), self.submitted[entry.work.view.name].cpu
        wanted = {domain.values[-1]: domain.pods * cpu for domain in part.placement.domains}
        return all(used[at] + cpus <= self.sizes[at] for at, cpus in wanted.items())

    def _view(self, name, given=None, **said):
        one = self.submitted[name]
        more = {}
        if given is not None:
            told = ("QuotaReserved", "Admitted")
            more = {
                "status": {"admission": {"clusterQueue": one.to, "podSetAssignments": [given]}},
                "conditions": [condition(kind, "True", at=NOON + timedelta(seconds=self.number)) for kind in told],
            }
        return asking(
            name, one.pods, cpu=str(one.cpu), topology=one.topology, to=one.to, priority=one.priority, **more, **said
        )


@settings(max_examples=120, deadline=None)
@given(sizes=NODES, submitted=SUBMITTED, quotas=st.tuples(*[st.integers(0, 12)] * 3), fair=FAIR)
def test_no_node_holds_more_than_it_has_and_nobody_is_admitted_twice(sizes, submitted, quotas, fair):
    play = Play(sizes, quotas, fair, **PREEMPTS)
    play.submit(*submitted)

    for _ in range(12):
        play.cycle()
        play.cache.wake("/c")

        assert all(cpus <= play.sizes[at] for at, cpus in play.used().items())
        assert sum(play.used().values()) <= sum(quotas)
        assert all(sum(pods.values()) == play.submitted[name].pods for name, pods in play.placed.items())


@settings(max_examples=60, deadline=None)
@given(sizes=NODES, submitted=SUBMITTED, fair=FAIR)
def test_required_pods_are_in_one_domain(sizes, submitted, fair):
    play = Play(sizes, (50, 50, 50), fair)
    play.submit(*submitted)

    for _ in range(6):
        play.cycle()

    for name, pods in play.placed.items():
        asked = play.submitted[name].topology.get("required")
        domains = {at if asked == HOSTNAME else at[1] for at in pods}
        assert asked is None or len(domains) == 1


@settings(max_examples=60, deadline=None)
@given(sizes=NODES, submitted=SUBMITTED, fair=FAIR)
def test_a_strict_queue_keeps_its_order(sizes, submitted, fair):
    play = Play(sizes, (50, 50, 50), fair, queueingStrategy="StrictFIFO")
    play.submit(*(Submitted(one.to, one.pods, one.cpu, 0, one.topology) for one in submitted))

    for _ in range(12):
        play.cycle()
        play.cache.wake("/c")

    for name in QUEUES:
        tried = [*dict.fromkeys(one for one in play.tried if play.submitted[one].to == name)]
        assert tried == [one for one in play.submitted if play.submitted[one].to == name][: len(tried)]

"""Queues that live on: cycle after cycle, and what each decides is done as soon as on a cluster.

A cycle follows the other at once. Who is preempted gives its quota back when further cycles bring nothing: its job has
to stop first. Workloads that could not be admitted are tried again when that, too, is over, and only where the cache
asks for it: Kueue gathers the changes of a second. Those behind a head that waits have their turn in between, as they
do while the scheduler runs. Were all this done at once, more plays would have no end than on a cluster: whoever waits
would be there for the room that was just made for another.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from fleetqueue.embedded.kueue.scheduling.cycle import Cycle, EntryStatus

from .objects import NOON, condition
from .topology_objects import asking

TREE = "/c"
"""The cohort that all queues are below."""
MOST_CYCLES = 60
"""There need not be an end. Kueue 0.19.2 goes round alike: with fair sharing even two queues and three Workloads of one
priority, without it where a queue is strict; see kueue#14543."""
MOST_CYCLES_TO_SETTLE = 1000
"""More than any play takes that comes to an end."""


OVERTAKES = "somebody runs before those who were submitted earlier"


@dataclass(frozen=True, kw_only=True)
class Submitted:
    to: str
    age: int
    cpu: int = 1
    """What each of its pods asks for."""
    pods: int = 1
    priority: int = 0
    topology: dict | None = None


class Play:
    """Runs cycles as the scheduler does, and does what they decide."""

    def __init__(self, cache, nodes=()):
        self.cache = cache
        self.room = quotas(cache) + Counter(nodes)
        """The cpus of each flavor and of each node, by name."""
        self.submitted = {}
        self.placed = {}
        """What each Workload that runs uses of that."""
        self.admissions = 0
        self.preemptions = 0
        self._number = 0
        self._admitted = {}
        """What the Workloads that run say of it."""
        self._leaving = {}
        """Who is preempted and still runs, in order."""
        self._to_wake = set()
        cache.retry = self._to_wake.add

    def submit(self, name, **asked):
        self.submitted[name] = Submitted(age=1000 - len(self.submitted), **asked)
        self.cache.set_workload(self._view(name))

    def submit_all(self, jobs):
        for asked in jobs:
            self.submit(f"w{len(self.submitted)}", **asked)

    def waves(self, *waves):
        """Submit one wave after the other, each when nothing changes any more, or not soon; yield after each cycle."""
        for jobs in waves:
            self.submit_all(jobs)
            yield from islice(self._until_nothing_changes(), MOST_CYCLES)

    def settle(self):
        for number, _ in enumerate(self._until_nothing_changes()):
            assert number < MOST_CYCLES_TO_SETTLE, "it never comes to an end"

    def cycle(self):
        """Run one; return whether the scheduler would run another one at once."""
        self._number += 1
        now = NOON + timedelta(seconds=self._number)
        entries = Cycle(self.cache, self._number, now, self.cache.settings.fair_sharing).run(self.cache.heads())
        can_bring_more = [self._carry_out(entry) for entry in entries]
        self._check_room_for([entry for entry in entries if entry.status is EntryStatus.PREEMPTS])
        return any(can_bring_more)

    def usage(self):
        """Return the cpus that are used of each flavor and of each node."""
        return sum(self.placed.values(), Counter())

    def used(self, queue):
        """Return the cpus that the Workloads of a queue use."""
        return sum(
            one.cpu * one.pods for name, one in self.submitted.items() if name in self.placed and one.to == queue
        )

    def overtakers(self, queue):
        """Name those of a queue that run although one waits that was submitted before them."""
        names = [name for name, one in self.submitted.items() if one.to == queue]
        first = next((number for number, name in enumerate(names) if name not in self.placed), len(names))
        return [name for name in names[first:] if name in self.placed]

    def _until_nothing_changes(self):
        """Go on until nothing changes even when all who wait are tried again."""
        changes = None
        while changes != (self.admissions, self.preemptions):
            changes = (self.admissions, self.preemptions)
            self.cache.wake(TREE)
            yield from self._until_nobody_asks()

    def _until_nobody_asks(self):
        """Go on until those who are preempted are gone, and nobody is to be tried again."""
        while True:
            while self.cycle():
                yield
            yield
            if self._leaving:
                self._let_go()
            elif self._to_wake:
                self.cache.wake(self._to_wake.pop())
            else:
                return

    def _carry_out(self, entry):
        """Do what was decided of a head; return whether another cycle can bring more."""
        if entry.status is EntryStatus.ADMITTED:
            self._admit(entry)
            return True
        told = self._preempt(entry) if entry.status is EntryStatus.PREEMPTS else False
        is_in_line = self.cache.back(entry.work, entry.why)
        has_more = entry.work.tried is not None and entry.work.tried.has_more
        return told or not is_in_line or has_more

    def _admit(self, entry):
        name = entry.work.view.name
        assert name not in self.placed, "it is admitted twice"
        self.placed[name] = self._usage_of(entry)
        self.admissions += 1
        (part,) = entry.assignment.parts
        at = NOON + timedelta(seconds=self._number)
        conditions = [condition(kind, "True", at=at) for kind in ("QuotaReserved", "Admitted")]
        admission = {"clusterQueue": self.submitted[name].to, "podSetAssignments": [part.manifest]}
        self._admitted[name] = {"status": {"admission": admission}, "conditions": conditions}
        self.cache.set_workload(self._view(name, **self._admitted[name]))

    def _preempt(self, entry):
        """Tell those whom a head preempts; return whether there are any who did not know."""
        assert entry.targets, "it preempts nobody"
        names = [target.candidate.work.view.name for target in entry.targets]
        told = [name for name in names if name not in self._leaving]
        for name in told:
            self._leaving[name] = None
            said = self._admitted[name]
            evicted = [*said["conditions"], condition("Evicted", "True", "Preempted")]
            self.cache.set_workload(self._view(name, status=said["status"], conditions=evicted))
        self.preemptions += bool(told)
        return bool(told)

    def _let_go(self):
        """Let those who were preempted give back what they hold, and wait again."""
        for name in self._leaving:
            del self.placed[name], self._admitted[name]
            self.cache.set_workload(self._view(name))
        self._leaving.clear()

    def _check_room_for(self, preempting):
        """Look, when a cycle is over, whether those who preempt fit beside all who stay: first each, then together."""
        staying = sum((used for name, used in self.placed.items() if name not in self._leaving), Counter())
        wanted = [self._usage_of(entry) for entry in preempting]
        for one in wanted:
            assert staying + one <= self.room, "they go, and there is no room for whom they go"
        assert sum(wanted, staying) <= self.room, "two of those who preempt count on the same room"

    def _usage_of(self, entry):
        """Return the cpus that a Workload was given, of each flavor and of each node."""
        one = self.submitted[entry.work.view.name]
        (part,) = entry.assignment.parts
        domains = part.placement.domains if part.placement is not None else ()
        of_flavors = Counter({what.flavor: value // 1000 for what, value in entry.assignment.usage.items()})
        of_nodes = Counter({domain.values[-1]: domain.pods * one.cpu for domain in domains})
        assert of_flavors.total() == one.cpu * one.pods, "it is not given what it asked for"
        assert of_nodes.total() == (one.cpu * one.pods if one.topology else 0), "not all of its pods have a place"
        return of_flavors + of_nodes

    def _view(self, name, **fields):
        one = self.submitted[name]
        asked = {"cpu": str(one.cpu), "topology": one.topology, "to": one.to, "priority": one.priority, "age": one.age}
        return asking(name, one.pods, version=1 + self._number, **asked, **fields)


def quotas(cache):
    """Return the cpus of each flavor that all queues have together; nothing limits what they lend."""
    total = Counter()
    for queue in cache.configuration.queues.values():
        for group in queue.spec.resource_groups:
            for flavor in group.flavors:
                total[flavor.name] += sum(int(resource.nominal_quota) for resource in flavor.resources)
    return total

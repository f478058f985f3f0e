"""Queues that share fairly and live on: cycle after cycle, and what each decides is done at once."""

from collections import Counter
from datetime import timedelta
from types import SimpleNamespace

from fleetqueue.embedded.kueue.scheduling.cycle import Cycle
from fleetqueue.embedded.kueue.settings import FairSharingSettings

from .fair_caches import fair_cache
from .objects import NOON, admitted, workload


class Play:
    """Runs cycles as the scheduler does, and does at once what they decide."""

    def __init__(self, *objects, fair=None):
        self.cache = fair_cache(*objects, fair=fair or FairSharingSettings())
        self.sizes = {}
        self.admissions = Counter()
        self.tried = []
        self.number = 0

    def submit(self, name, *, to, cpu=1, priority=0):
        self.sizes[name] = SimpleNamespace(to=to, cpu=cpu, priority=priority)
        self.cache.set_workload(workload(name, to=to, cpu=str(cpu), priority=priority, age=1000 - len(self.sizes)))

    def cycle(self):
        """Run one; return whether anything came of it."""
        self.number += 1
        heads = self.cache.heads()
        now = NOON + timedelta(seconds=self.number)
        entries = Cycle(self.cache, self.number, now, self.cache.settings.fair_sharing).run(heads)
        self.tried += [entry.work.view.name for entry in entries]
        for entry in entries:
            name = entry.work.view.name
            if entry.status.name == "ADMITTED":
                self._admit(name, *entry.assignment.usage)
                continue
            for target in entry.targets if entry.status.name == "PREEMPTS" else ():
                self._evict(target.candidate.work.view.name)
            self.cache.back(entry.work, entry.why)
        return any(entry.status.name in ("ADMITTED", "PREEMPTS") for entry in entries)

    def settle(self, cycles=200):
        """Run cycles until nothing changes any more."""
        for _ in range(cycles):
            if not self.cycle():
                self.cache.wake("/c")
                if not self.cycle():
                    return
        raise AssertionError("it never comes to an end")

    def used(self, name):
        """Return the cpus that a queue holds, of whatever flavor."""
        return sum(self.cache.queue(name).usage.values()) // 1000

    def _admit(self, name, given):
        said = self.sizes[name]
        self.admissions[name] += 1
        assert self.admissions[name] == 1, "admitted twice"
        self.cache.set_workload(
            admitted(
                name,
                to=said.to,
                cpu=str(said.cpu),
                flavor=given.flavor,
                priority=said.priority,
                reserved=NOON + timedelta(seconds=self.number),
                version=1000 + self.number,
            )
        )

    def _evict(self, name):
        said = self.sizes[name]
        self.admissions[name] -= 1
        self.cache.set_workload(
            workload(name, to=said.to, cpu=str(said.cpu), priority=said.priority, version=2000 + self.number)
        )

"""An hour in the life of ten clusters, told as a digest of all that was ever stored.

Run as a program it prints the digest, so that it can be compared under another hash seed.
"""

import hashlib

from fleetqueue import clock
from fleetqueue.api.batch_v1 import Job
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.fleet import Fleet
from fleetqueue.testing.virtual_time import run

WORKERS = 9


class Chronicle:
    """Follows all that is stored in a fleet; the bytes of secrets do not count, since signatures are never equal."""

    def __init__(self, fleet):
        self.digest = hashlib.sha256()
        self.changes = 0
        storages = {cluster.name: cluster.server.api.storage for cluster in fleet}
        self._watches = {name: storage.watch("/", since=storage.revision) for name, storage in storages.items()}

    async def go_on(self):
        for name, watch in self._watches.items():
            while changes := await watch.read(until=clock.monotonic()):
                for change in changes:
                    self._note(name, change)

    def _note(self, name, change):
        self.changes += 1
        what = b"" if change.key.startswith("/secrets/") else change.entry.json
        self.digest.update(f"{name} {change.revision} {change.type} {change.key} ".encode() + what)


def job(name):
    lasts = f"{int(clock.between(10, 900))}s"
    template = pod_template(annotations={"fleetqueue.dev/run-for": lasts}, requests={"cpu": "1"})
    return Job.manifest(name, "default", spec={"template": template})


async def hour(seed):
    """Let a job arrive somewhere every minute; return the digest, the number of changes and of jobs that ended."""
    async with Fleet.open(WORKERS, seed=seed) as fleet:
        chronicle = Chronicle(fleet)
        for minute in range(60):
            worker = fleet.workers[int(clock.between(0, WORKERS))]
            worker.add(job(f"job-{minute}"))
            await fleet.advance("60s")
            await chronicle.go_on()
        ended = [found for worker in fleet.workers for found in worker.list(Job) if found.has_ended]
        return chronicle.digest.hexdigest(), chronicle.changes, len(ended)


def history(seed):
    return run(hour(seed))


if __name__ == "__main__":
    print(*history(seed=7))  # noqa: T201

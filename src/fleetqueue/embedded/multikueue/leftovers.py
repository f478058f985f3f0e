"""Look from time to time for what workers still have of Workloads that the hub does not have any more."""

import asyncio

from fleetqueue.embedded.multikueue.group_lookup import Groups
from fleetqueue.embedded.multikueue.remote import Remote


class Leftovers:
    """What was deleted while a worker, or we, were away; all else goes when its Workload goes."""

    def __init__(self, groups: Groups, interval: float) -> None:
        self.groups = groups
        self.interval = interval

    async def run(self) -> None:
        while self.interval > 0:
            await asyncio.sleep(self.interval)
            for remote in self.groups.remotes:
                self.look(remote)

    def look(self, remote: Remote) -> None:
        if not remote.is_connected or remote.copies is None:
            return
        for key in remote.keys():
            local = self.groups.local(key)
            if local is None or local[0].is_deleting:
                remote.copies.wake(key)

"""The addresses of pods: each node has its network, and a free one is given again when its pod has ended."""

from typing import Final

from fleetqueue.embedded.nodes.objects import Pod

FIRST: Final = 2
"""The first one of a network is the node's own."""
LAST: Final = 254


class Addresses:
    def __init__(self) -> None:
        self._by_pod: dict[str, str] = {}
        self._taken: set[str] = set()

    def give(self, pod: Pod, network: str) -> str:
        """Return the address of a pod, the lowest free one where it has none; the last one where all are taken."""
        if pod.uid not in self._by_pod:
            free = (f"{network}.{number}" for number in range(FIRST, LAST) if f"{network}.{number}" not in self._taken)
            self._note(pod, next(free, f"{network}.{LAST}"))
        return self._by_pod[pod.uid]

    def change(self, old: Pod | None, new: Pod | None) -> None:
        """Take a change as the informer tells it."""
        if old is not None and (new is None or new.uid != old.uid or new.has_ended):
            self._taken.discard(self._by_pod.pop(old.uid, ""))
        if new is not None and new.status.pod_ip and not new.has_ended:
            self._note(new, new.status.pod_ip)

    def _note(self, pod: Pod, address: str) -> None:
        self._by_pod[pod.uid] = address
        self._taken.add(address)

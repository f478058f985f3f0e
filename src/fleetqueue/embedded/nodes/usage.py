"""How much of each node is taken: by pods that are bound, and by those that are just being bound."""

from collections.abc import Mapping
from decimal import Decimal

from fleetqueue.api import quantity
from fleetqueue.api.quantity import Amounts
from fleetqueue.embedded.nodes.fitting import needs_of
from fleetqueue.embedded.nodes.objects import Pod


class Usage:
    def __init__(self) -> None:
        self._taken: dict[str, Amounts] = {}
        self._places: dict[str, tuple[str, Amounts]] = {}
        """From a pod's uid to its node, and what it takes there."""
        self._assumed: set[str] = set()
        """Pods that we have bound and the cache does not show so yet."""

    def of(self, node: str) -> Mapping[str, Decimal]:
        return self._taken.get(node, {})

    def assume(self, pod: Pod, node: str, needs: Amounts) -> None:
        """Reserve a place for a pod before its binding is asked for."""
        self._assumed.add(pod.uid)
        self._put(pod.uid, node, needs)

    def forget(self, pod: Pod) -> None:
        """Give the place back: the binding was refused."""
        self._assumed.discard(pod.uid)
        self._remove(pod.uid)

    def is_assumed(self, pod: Pod) -> bool:
        return pod.uid in self._assumed

    def change(self, old: Pod | None, new: Pod | None) -> bool:
        """Take a change as the informer tells it; return whether something became free."""
        is_freed = False
        if old is not None and (new is None or new.uid != old.uid):
            is_freed = old.uid in self._places
            self.forget(old)
        if new is not None and new.has_ended:
            is_freed = is_freed or new.uid in self._places
            self.forget(new)
        elif new is not None and new.spec.node_name:
            self._assumed.discard(new.uid)
            self._put(new.uid, new.spec.node_name, needs_of(new))
        return is_freed

    def _put(self, uid: str, node: str, needs: Amounts) -> None:
        if self._places.get(uid) == (node, needs):
            return
        self._remove(uid)
        self._places[uid] = (node, needs)
        self._taken[node] = quantity.add((self._taken.get(node, {}), needs))

    def _remove(self, uid: str) -> None:
        node, needs = self._places.pop(uid, ("", {}))
        if node:
            given_back = {name: -amount for name, amount in needs.items()}
            self._taken[node] = quantity.add((self._taken[node], given_back))

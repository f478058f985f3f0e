"""What the running Kueue was started with, beside what is written for its next start.

Kueue reads its configuration when it starts, and never again. Who changes the ConfigMap and restarts nothing has
changed nothing yet; so what is written counts for a pod of Kueue only if the pod is newer than the change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.api.kueue_installation import KueuePod, KueueSource

SLOW: Final = timedelta(minutes=2)
"""How long a kubelet may take to bring a changed ConfigMap into a pod that runs already; a container that is restarted
sooner may read either."""
NAMES: Final = {
    "dispatcher_name": "multiKueue.dispatcherName",
    "origin": "multiKueue.origin",
    "worker_lost_timeout": "multiKueue.workerLostTimeout",
    "frameworks": "integrations.frameworks",
    "external_frameworks": "multiKueue.externalFrameworks",
    "gates": "featureGates",
}


@dataclass(frozen=True, slots=True)
class Version:
    """What a ConfigMap said from some time on."""

    configuration: Configuration
    since: datetime | None
    """None where nobody knows when it was written: it counts as old."""


@dataclass(frozen=True, slots=True)
class KueueReplica:
    """A pod in which Kueue runs."""

    name: str
    created: datetime
    started: datetime
    """When its container did."""


@dataclass(frozen=True, slots=True)
class RunningKueue:
    """Kueue as it is configured."""

    written: Configuration
    running: tuple[Configuration, ...]
    """What its pods may have been started with, each once."""
    is_known: bool = True
    """False where a pod is older than all that is known."""
    outdated: tuple[str, ...] = ()
    """The pods that may run with something else than what is written."""
    earlier: tuple[Configuration, ...] = ()
    """What was written before, where no Deployment of Kueue shows whether it was restarted since."""

    @property
    def all(self) -> tuple[Configuration, ...]:
        """Every configuration that Kueue may have now, or after its next start."""
        return tuple(dict.fromkeys((self.written, *self.running)))

    def may_leave_nominations_to(self, dispatcher: str) -> bool:
        """Tell whether some pod may wait for nominations of a dispatcher; in doubt one too many does no harm."""
        maybe = (*self.running, *self.earlier)
        return not self.is_known or any(configuration.dispatcher_name == dispatcher for configuration in maybe)

    def leaves_nominations_to(self, dispatcher: str) -> bool:
        """Tell whether every pod certainly waits for nominations of a dispatcher."""
        return self.is_known and all(configuration.dispatcher_name == dispatcher for configuration in self.running)


def managers(source: KueueSource, pods: Iterable[KueuePod]) -> list[KueueReplica]:
    """Return the pods of Kueue that run; none where they do not belong to a Deployment."""
    selector = source.selector.items()
    return [
        KueueReplica(pod.name, pod.metadata.creation_timestamp, pod.started)
        for pod in pods
        if selector and selector <= pod.metadata.labels.items() and pod.started and pod.metadata.creation_timestamp
    ]


def kueue(versions: Sequence[Version], managers: Iterable[KueueReplica], *, is_seen: bool = True) -> RunningKueue:
    """Say what Kueue runs with; `versions` are what was written, in its order. No pods to be seen: what is written.

    `is_seen` is False where Kueue has no Deployment, whose pods would tell.
    """
    written = versions[-1].configuration if versions else Configuration()
    running: dict[Configuration, None] = {}
    outdated = []
    is_known = True
    for manager in managers if versions else ():
        configurations, is_sure = _read_by(manager, versions)
        running |= dict.fromkeys(configurations)
        is_known = is_known and is_sure
        if not is_sure or set(configurations) != {written}:
            outdated.append(manager.name)
    before = () if is_seen else dict.fromkeys(v.configuration for v in versions if v.configuration != written)
    return RunningKueue(written, tuple(running) or (written,), is_known, tuple(outdated), tuple(before))


def differences(written: Configuration, running: Iterable[Configuration]) -> list[str]:
    """Name what of a configuration is not in force yet, as its file calls it."""
    return [name for field, name in NAMES.items() if any(getattr(c, field) != getattr(written, field) for c in running)]


def _read_by(manager: KueueReplica, versions: Sequence[Version]) -> tuple[list[Configuration], bool]:
    """Return what a pod may have read when it started, and whether that is all that it may have read."""
    sure = max((number for number, version in enumerate(versions) if _is_read(manager, version)), default=-1)
    first = [versions[sure]] if sure >= 0 else []
    maybe = [version for version in versions[sure + 1 :] if version.since and manager.started >= version.since]
    return [version.configuration for version in (*first, *maybe)], sure >= 0


def _is_read(manager: KueueReplica, version: Version) -> bool:
    """Tell whether a pod has read a version, or a later one. Times are whole seconds: in one second counts as after."""
    since = version.since
    return since is None or manager.created >= since or manager.started >= since + SLOW

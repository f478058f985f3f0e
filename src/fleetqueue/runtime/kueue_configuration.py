"""Follow the configuration of the Kueue that is installed on a hub, wherever it was installed from.

Reads: the Deployment of Kueue's manager and its pods, and the ConfigMaps of Kueue's namespace
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.kueue_configuration import Configuration, read
from fleetqueue.api.kueue_installation import (
    MANAGER_LABELS,
    KueueConfigMap,
    KueueDeployment,
    KueuePod,
    KueueSource,
    key_in,
    source_of,
)
from fleetqueue.api.meta import Object
from fleetqueue.api.running_kueue import RunningKueue, Version, kueue, managers
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch

MOST_KEPT: Final = 20
"""How many versions of a configuration are remembered; a pod that is older runs with something that is not known."""


class KueueConfiguration:
    def __init__(self, hub: Cluster, namespace: str, config_map: str = "") -> None:
        """`config_map`: its name, where one was set; empty finds it."""
        self._hub = hub
        self._namespace = namespace
        self._config_map = config_map
        self.source = KueueSource()
        """Where the configuration is looked for."""
        self._texts: list[tuple[str | None, datetime | None]] = []
        """What the ConfigMap was seen to say, and since when; None where there was none."""
        self._now: RunningKueue | None = None
        """Asked for each Workload, so that it is found out once for every change."""
        informers = [
            hub.informer(watch.kind, namespace=namespace, labels=watch.labels) for watch in self.watches(lambda: ())
        ]
        for informer in informers:
            informer.subscribe(self._look)

    def watches(self, keys: Callable[[], Iterable[str]]) -> Iterable[Watch[Any]]:
        """Wake these keys when the configuration, written or running, may have changed."""
        namespace = self._namespace
        yield Watch(
            KueueConfigMap,
            lambda obj: keys() if obj.name == self.source.config_map else (),
            namespace=namespace,
            facts=lambda obj: obj.data,
        )
        yield Watch(
            KueueDeployment,
            lambda _: keys(),
            namespace=namespace,
            labels=MANAGER_LABELS,
            facts=lambda obj: obj.spec,
        )
        yield Watch(
            KueuePod, lambda _: keys(), namespace=namespace, labels=MANAGER_LABELS, facts=lambda obj: obj.started
        )

    @property
    def now(self) -> RunningKueue:
        """What is written, and what Kueue runs with."""
        if self._now is None:
            gates = self.source.feature_gates
            versions = [Version(read(text or "", gates), since) for text, since in self._texts]
            pods = managers(self.source, self._hub.list(KueuePod))
            self._now = kueue(versions, pods, is_seen=bool(self.source.deployment))
        return self._now

    @property
    def written(self) -> Configuration:
        """What the ConfigMap says; Kueue's defaults where there is none."""
        return self.now.written

    @property
    def is_found(self) -> bool:
        return bool(self._texts) and self._texts[-1][0] is not None

    @property
    def where(self) -> str:
        """Name the ConfigMap."""
        return f"{self._namespace}/{self.source.config_map}"

    def _look(self, old: Object | None, new: Object | None) -> None:
        """Remember what the ConfigMap says now: a pod of Kueue may run with what it said before."""
        self._now = None
        source = source_of(self._hub.list(KueueDeployment), self._config_map)
        if (source.config_map, source.key) != (self.source.config_map, self.source.key):
            self._texts.clear()
        self.source = source
        config_map = self._hub.get(KueueConfigMap, source.config_map, self._namespace)
        key = key_in(config_map.data, source.key) if config_map is not None else ""
        text = config_map.data[key] if config_map is not None and key else None
        if self._texts and self._texts[-1][0] == text:
            return
        if self._texts:
            self._texts.append((text, (config_map.changed.get(key) if config_map is not None else None) or clock.now()))
        elif config_map is not None and text is not None:
            self._texts.append((text, config_map.changed.get(key) or config_map.metadata.creation_timestamp))
        del self._texts[:-MOST_KEPT]

"""Follow the configuration of the Kueue that is installed on a hub, wherever it was installed from.

Reads: the Deployment of Kueue's manager, and the ConfigMaps of Kueue's namespace
"""

from collections.abc import Callable, Iterable
from typing import Any

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_configuration import Configuration, read
from fleetqueue.api.kueue_installation import MANAGER_LABELS, KueueDeployment, Source, key_in, source_of
from fleetqueue.api.meta import Object
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Watch


class KueueConfiguration:
    def __init__(self, hub: Cluster, namespace: str, config_map: str = "") -> None:
        """`config_map`: its name, where somebody chose one; empty finds it."""
        self._hub = hub
        self._namespace = namespace
        self._config_map = config_map
        self._known: tuple[Source, Configuration | None] | None = None
        """What was read last; asked for each Workload, so that it is read once for every change."""
        for watch in self.watches(lambda: ()):
            informer = hub.informer(watch.kind, namespace=watch.namespace, labels=watch.labels)
            informer.subscribe(self._forget)

    def watches(self, keys: Callable[[], Iterable[str]]) -> Iterable[Watch[Any]]:
        """Wake these keys when the configuration may have changed."""
        namespace = self._namespace
        yield Watch(
            ConfigMap,
            lambda found: keys() if found.name == self.source.config_map else (),
            namespace=namespace,
            facts=lambda found: found.data,
        )
        yield Watch(
            KueueDeployment,
            lambda _: keys(),
            namespace=namespace,
            labels=MANAGER_LABELS,
            facts=lambda found: found.spec.template,
        )

    @property
    def source(self) -> Source:
        """Where the configuration is looked for."""
        return self._read()[0]

    @property
    def written(self) -> Configuration:
        """What the ConfigMap says; Kueue's defaults where there is none."""
        return self._read()[1] or Configuration()

    @property
    def is_found(self) -> bool:
        return self._read()[1] is not None

    def _read(self) -> tuple[Source, Configuration | None]:
        if self._known is None:
            source = source_of(self._hub.list(KueueDeployment), self._config_map)
            found = self._hub.get(ConfigMap, source.config_map, self._namespace)
            key = key_in(found.data, source.key) if found is not None else ""
            self._known = source, read(found.data[key], source.feature_gates) if found is not None and key else None
        return self._known

    def _forget(self, old: Object | None, new: Object | None) -> None:
        self._known = None

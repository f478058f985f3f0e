"""What a credential shall allow now, as the hub's Kueue is configured.

Reads: Kueue's configuration, and of the hub which resources it serves
"""

from dataclasses import replace
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.external_kinds import parsed
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.worker_rules import JobKind, Rights, rights_for
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.kueue_configuration import KueueConfiguration

LOOK_AGAIN: Final = 30.0
"""Seconds until the hub is asked again about a kind that it did not serve."""


class RightsInUse:
    def __init__(self, hub: Cluster, settings: CredentialsSettings) -> None:
        self.kueue = KueueConfiguration(hub, settings.kueue_namespace, settings.kueue_config_map)
        self._hub = hub
        self._job_kinds = settings.job_kinds
        self._served: dict[str, JobKind] = {}
        """Kinds that the hub serves, by their names in `externalFrameworks`."""
        self._asked: dict[str, float] = {}

    async def now(self) -> Rights:
        configurations = self._configurations()
        for name in sorted({name for configuration in configurations for name in configuration.external_frameworks}):
            if name not in self._served and clock.monotonic() - self._asked.get(name, -LOOK_AGAIN) >= LOOK_AGAIN:
                await self._look_up(name)
        return replace(rights_for(configurations, self._served), only_adds=not self.kueue.now.is_known)

    def _configurations(self) -> list[Configuration]:
        if not self.kueue.is_found and self._job_kinds:
            return [Configuration(frameworks=self._job_kinds)]
        return list(self.kueue.now.all)  # a restart of Kueue shall never meet a missing right

    async def _look_up(self, name: str) -> None:
        self._asked[name] = clock.monotonic()
        wanted = parsed(name)
        if wanted is None:
            return
        try:
            plural = await self._hub.client.plural_of(wanted.api_version, wanted.kind)
        except errors.ApiError:
            return  # not now: the other kinds do not wait for it
        if plural:
            self._served[name] = JobKind(wanted.group, wanted.version, plural)

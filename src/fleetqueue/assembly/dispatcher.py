"""Tell the hub's Kueue who dispatches: us, or Kueue itself again."""

from dataclasses import dataclass
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import read, with_dispatcher
from fleetqueue.api.kueue_installation import MANAGER_LABELS, KueueDeployment, Source, key_in, source_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

DEPLOYMENTS: Final = KueueDeployment.resource
RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
"""The annotation with which `kubectl rollout restart` makes new pods."""


class NoKueueConfig(Exception):
    """Kueue's configuration is not where it is looked for; the text says where that is."""


async def set_ours(hub: Client, namespace: str, config_map: str = "") -> bool:
    """Let Kueue leave nominations to us; False where it does already."""
    return await _set(hub, namespace, config_map, DISPATCHER_NAME)


async def set_back(hub: Client, namespace: str, config_map: str = "") -> bool:
    """Let Kueue dispatch by itself again; False where it does. A dispatcher that is not ours is left alone."""
    found = await find(hub, namespace, config_map)
    return await _set(hub, namespace, config_map, None) if found.dispatcher == DISPATCHER_NAME else False


async def restart_kueue(hub: Client, namespace: str) -> str:
    """Make new pods of Kueue, which read the configuration; return the Deployment's name, empty where there is none."""
    name = (await _source(hub, namespace, "")).deployment
    if name:
        stamp = {"annotations": {RESTARTED_AT: timestamp(clock.now())}}
        await hub.merge(DEPLOYMENTS, name, namespace, {"spec": {"template": {"metadata": stamp}}})
    return name


@dataclass(frozen=True, slots=True)
class Found:
    """Kueue's configuration as it is written on the hub."""

    config_map: Manifest
    key: str

    @property
    def text(self) -> str:
        return str(self.config_map["data"][self.key])

    @property
    def dispatcher(self) -> str:
        return read(self.text).dispatcher_name


async def find(hub: Client, namespace: str, config_map: str = "") -> Found:
    """Find it; `config_map` is its name, where somebody chose one. Raises NoKueueConfig."""
    source = await _source(hub, namespace, config_map)
    try:
        live = await hub.get(ConfigMap.resource, source.config_map, namespace)
    except errors.NotFound:
        live = {}
    key = key_in(live.get("data") or {}, source.key)
    if not key:
        raise NoKueueConfig(
            f'ConfigMap "{namespace}/{source.config_map}" with key "{source.key}" is missing; install Kueue, or name '
            "its namespace with --kueue-namespace"
        )
    return Found(live, key)


async def _source(hub: Client, namespace: str, config_map: str) -> Source:
    listed = await hub.list(DEPLOYMENTS, namespace, labels=MANAGER_LABELS)
    return source_of(map(KueueDeployment.view, listed.items), config_map)


async def _set(hub: Client, namespace: str, config_map: str, name: str | None) -> bool:
    found = await find(hub, namespace, config_map)
    wanted = with_dispatcher(found.text, name)
    if read(wanted) == read(found.text):
        return False
    metadata = found.config_map["metadata"]
    patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "data": {found.key: wanted}}
    await hub.merge(ConfigMap.resource, metadata["name"], namespace, patch)
    return True

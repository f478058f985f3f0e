"""Tell the hub's Kueue who dispatches: us, or Kueue itself again."""

from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.controllers.placement_admission.kueue_config import CONFIG_KEY, CONFIG_MAP, read, with_dispatcher
from fleetqueue.controllers.placement_admission.names import DISPATCHER_NAME

DEPLOYMENTS: Final = Resource("apps", "v1", "Deployment", "deployments")
KUEUE_DEPLOYMENT: Final = "kueue-controller-manager"
RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
"""The annotation with which `kubectl rollout restart` makes new pods."""


class NoKueueConfig(Exception):
    """Kueue's configuration is not where it is looked for; the text says where that is."""


async def set_ours(hub: Client, namespace: str) -> bool:
    """Let Kueue leave nominations to us; False where it does already."""
    return await _set(hub, namespace, DISPATCHER_NAME)


async def set_back(hub: Client, namespace: str) -> bool:
    """Let Kueue dispatch by itself again; False where it does. A dispatcher that is not ours is left alone."""
    config = ConfigMap.view(await _config_map(hub, namespace))
    return await _set(hub, namespace, None) if read(config).is_ours else False


async def restart_kueue(hub: Client, namespace: str) -> bool:
    """Make new pods of Kueue, which read the configuration; False where there is no Deployment of Kueue."""
    stamp = {"annotations": {RESTARTED_AT: timestamp(clock.now())}}
    patch = {"spec": {"template": {"metadata": stamp}}}
    try:
        await hub.merge(DEPLOYMENTS, KUEUE_DEPLOYMENT, namespace, patch)
    except errors.NotFound:
        return False
    return True


async def _set(hub: Client, namespace: str, name: str | None) -> bool:
    live = await _config_map(hub, namespace)
    text = live["data"][CONFIG_KEY]
    wanted = with_dispatcher(text, name)
    if read(ConfigMap.view(live)) == read(ConfigMap.view({**live, "data": {CONFIG_KEY: wanted}})):
        return False
    metadata = {"resourceVersion": live["metadata"]["resourceVersion"]}
    await hub.merge(ConfigMap.resource, CONFIG_MAP, namespace, {"metadata": metadata, "data": {CONFIG_KEY: wanted}})
    return True


async def _config_map(hub: Client, namespace: str) -> Manifest:
    try:
        live = await hub.get(ConfigMap.resource, CONFIG_MAP, namespace)
    except errors.NotFound:
        live = {}
    if CONFIG_KEY not in (live.get("data") or {}):
        raise NoKueueConfig(
            f'ConfigMap "{namespace}/{CONFIG_MAP}" with key "{CONFIG_KEY}" is missing; '
            "install Kueue, or name its namespace with --kueue-namespace"
        )
    return live

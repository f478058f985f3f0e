"""How soon the hub's Kueue gives a worker up, as an administrator sets it."""

from contextlib import asynccontextmanager

import yaml

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP

KUEUE = "kueue-system"


@asynccontextmanager
async def worker_lost_timeout(world, time):
    """Let the hub's Kueue give workers up after a time, as an administrator would."""
    before = (await world.hub.get(ConfigMap.resource, CONFIG_MAP, KUEUE))["data"][CONFIG_KEY]
    config = yaml.safe_load(before)
    config["multiKueue"]["workerLostTimeout"] = time
    try:
        await set_config(world, yaml.safe_dump(config, sort_keys=False))
        yield
    finally:
        await set_config(world, before)


async def set_config(world, text):
    await world.hub.merge(ConfigMap.resource, CONFIG_MAP, KUEUE, {"data": {CONFIG_KEY: text}})
    await world.fleet.restart("hub/kueue")

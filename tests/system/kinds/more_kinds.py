"""Kinds of jobs beyond those that the environment has, brought to it as an administrator would."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import yaml

from fleetqueue.admin import dispatcher
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.job_kinds import SPARK_APPLICATION
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.fleets.systems.operators import SPARK_OPERATOR
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds
from fleetqueue.lab.cluster_names import HUB
from tests import pipelines

GATES = {"SparkApplicationIntegration": True}


@asynccontextmanager
async def with_more_kinds(clients: Mapping[str, Client]) -> AsyncIterator[None]:
    """Let every cluster have SparkApplications and Pipelines, and the hub's Kueue manage the one and send the other."""
    hub = clients[HUB]
    for client in clients.values():
        await install_kinds(client, "spark-operator")
        await create_all(client, [pipelines.DEFINITION])
    await install(hub, SPARK_OPERATOR)
    await create_all(hub, pipelines.rights())
    await configure(hub)
    async with pipelines.run_on(clients):
        yield


async def configure(hub: Client) -> None:
    written = await dispatcher.find(hub, KUEUE_NAMESPACE)
    config = pipelines.with_pipelines(with_spark(yaml.safe_load(written.text)))
    data = {written.key: yaml.safe_dump(config, sort_keys=False)}
    await hub.merge(ConfigMap.resource, written.config_map["metadata"]["name"], KUEUE_NAMESPACE, {"data": data})
    await dispatcher.restart_kueue(hub, KUEUE_NAMESPACE)


def with_spark(configuration: Manifest) -> Manifest:
    """Return Kueue's configuration with SparkApplications among the kinds that it manages."""
    frameworks = [*configuration["integrations"]["frameworks"], SPARK_APPLICATION.framework]
    gates = {**(configuration.get("featureGates") or {}), **GATES}
    return {**configuration, "integrations": {"frameworks": frameworks}, "featureGates": gates}

"""Who dispatches: the one line of Kueue's configuration that is ours to change."""

import pytest
import yaml

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_installation import KueueDeployment
from fleetqueue.assembly.dispatcher import NoKueueConfig, restart_kueue, set_back, set_ours
from fleetqueue.client import Client
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import kueue_deployment

NAME, KEY = "kueue-manager-config", "controller_manager_config.yaml"


def config(text: str) -> dict[str, object]:
    return ConfigMap.manifest(NAME, "kueue-system", data={KEY: text})


def live(api: ArrangedApi) -> dict[str, object]:
    return yaml.safe_load(api.get(ConfigMap, NAME, "kueue-system").data[KEY])


async def test_our_name_is_put_beside_what_is_there(api):
    api.add(config("manageJobsWithoutQueueName: false\nmultiKueue: {origin: here}\n"))

    assert await set_ours(Client(api), "kueue-system")

    assert live(api) == {
        "manageJobsWithoutQueueName": False,
        "multiKueue": {"origin": "here", "dispatcherName": "fleetqueue.dev/dispatcher"},
    }


async def test_setting_it_again_writes_nothing(api):
    api.add(config("multiKueue: {dispatcherName: fleetqueue.dev/dispatcher}"))

    assert not await set_ours(Client(api), "kueue-system")

    assert api.writes == []


async def test_setting_it_back_leaves_no_trace(api):
    api.add(config("a: 1\nmultiKueue: {dispatcherName: fleetqueue.dev/dispatcher}"))

    assert await set_back(Client(api), "kueue-system")

    assert live(api) == {"a": 1}


async def test_a_dispatcher_of_somebody_else_is_left_alone(api):
    api.add(config("multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental}"))

    assert not await set_back(Client(api), "kueue-system")

    assert api.writes == []


async def test_a_missing_configuration_is_named(api):
    with pytest.raises(NoKueueConfig, match='ConfigMap "kueue-system/kueue-manager-config"'):
        await set_ours(Client(api), "kueue-system")


async def test_a_configuration_of_another_name_is_found_by_the_deployment(api):
    api.add(
        kueue_deployment("team-kueue-controller-manager", config_map="team-kueue-manager-config"),
        ConfigMap.manifest("team-kueue-manager-config", "kueue-system", data={KEY: "a: 1"}),
    )

    assert await set_ours(Client(api), "kueue-system")

    found = api.get(ConfigMap, "team-kueue-manager-config", "kueue-system").data[KEY]
    assert yaml.safe_load(found) == {"a": 1, "multiKueue": {"dispatcherName": "fleetqueue.dev/dispatcher"}}


async def test_kueue_that_is_no_deployment_cannot_be_restarted(api):
    assert await restart_kueue(Client(api), "kueue-system") == ""


async def test_kueue_is_restarted_as_kubectl_does(api):
    api.add(kueue_deployment("team-kueue-controller-manager"))

    assert await restart_kueue(Client(api), "kueue-system") == "team-kueue-controller-manager"

    template = api.raw(KueueDeployment, "team-kueue-controller-manager", "kueue-system")["spec"]["template"]
    assert template["metadata"]["annotations"] == {"kubectl.kubernetes.io/restartedAt": timestamp(clock.now())}

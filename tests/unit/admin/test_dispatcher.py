"""Who dispatches: the one line of Kueue's configuration that is ours to change."""

import pytest
import yaml

from fleetqueue import clock
from fleetqueue.admin.dispatcher import (
    RESTART_BY_HAND,
    NoKueueConfig,
    WrittenConfiguration,
    change_back,
    change_to_ours,
    install,
    restart_kueue,
    set_back,
    set_ours,
    state,
    waits_for_a_restart,
)
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_installation import KueueDeployment
from fleetqueue.client import Client
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import kueue_deployment, kueue_pod
from fleetqueue.testing.virtual_time import advance

NAME, KEY = "kueue-manager-config", "controller_manager_config.yaml"
OURS = "multiKueue: {dispatcherName: fleetqueue.dev/dispatcher}"


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


HELMED = {"meta.helm.sh/release-name": "kueue"}


@pytest.mark.parametrize(
    ("metadata", "who"),
    [
        pytest.param({}, "", id="nobody"),
        pytest.param({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "Helm", id="Helm"),
        pytest.param({"annotations": HELMED}, "Helm", id="a release of Helm's"),
        pytest.param(
            {"annotations": {**HELMED, "argocd.argoproj.io/tracking-id": "kueue:/ConfigMap"}}, "Argo CD", id="Argo CD"
        ),
        pytest.param({"labels": {"kustomize.toolkit.fluxcd.io/name": "kueue"}}, "Flux", id="Flux"),
        pytest.param({"managedFields": [{"manager": "argocd-controller"}]}, "Argo CD", id="a field manager"),
        pytest.param({"managedFields": [{"manager": "kubectl-edit"}]}, "", id="a person"),
        pytest.param({"labels": {"app.kubernetes.io/managed-by": "somebody"}}, "", id="another mark"),
    ],
)
def test_who_keeps_the_configuration_elsewhere(metadata, who):
    assert WrittenConfiguration({"metadata": metadata, "data": {KEY: ""}}, KEY).managed_by == who


async def test_the_change_is_printed_and_nothing_is_written(api):
    api.add(config("# ours\na: 1\n"))
    said = []

    change = await change_to_ours(Client(api), "kueue-system", "", said.append)

    assert change == (
        f"--- a/kueue-system/{NAME}/{KEY}\n"
        f"+++ b/kueue-system/{NAME}/{KEY}\n"
        "@@ -1,2 +1,4 @@\n # ours\n a: 1\n+multiKueue:\n+  dispatcherName: fleetqueue.dev/dispatcher\n"
    )
    assert api.writes == []
    assert "nothing is changed" in said[0]


async def test_for_helm_the_values_are_printed_too(api):
    manifest = config("a: 1\n")
    manifest["metadata"]["annotations"] = HELMED
    api.add(manifest)

    change = await change_to_ours(Client(api), "kueue-system", "", print)

    values = yaml.safe_load(change.partition("chart\n")[2])
    text = values["managerConfig"]["controllerManagerConfigYaml"]
    assert yaml.safe_load(text) == {"a": 1, "multiKueue": {"dispatcherName": "fleetqueue.dev/dispatcher"}}


async def test_the_way_back_is_printed_as_well(api):
    api.add(config("a: 1\nmultiKueue:\n  dispatcherName: fleetqueue.dev/dispatcher\n"))

    change = await change_back(Client(api), "kueue-system", "", print)

    assert "-multiKueue:\n-  dispatcherName: fleetqueue.dev/dispatcher\n" in change
    assert api.writes == []


@pytest.mark.parametrize("text", ["a: 1", "multiKueue: {dispatcherName: another}"])
async def test_no_way_back_is_needed_from_a_dispatcher_that_is_not_ours(api, text):
    api.add(config(text))
    said = []

    assert await change_back(Client(api), "kueue-system", "", said.append) == ""

    assert said == [f"ConfigMap kueue-system/{NAME} needs no change"]


async def test_who_would_undo_a_change_is_named(api):
    manifest = config("a: 1\n")
    manifest["metadata"]["annotations"] = HELMED
    api.add(kueue_deployment(), manifest)
    said = []

    await install(Client(api), "kueue-system", "", said.append)

    assert said[0] == "Kueue leaves dispatching to fleetqueue, and is restarted"
    assert "is written by Helm, which may undo this" in said[1]
    assert live(api)["multiKueue"] == {"dispatcherName": "fleetqueue.dev/dispatcher"}


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_a_kueue_that_is_older_than_our_name_in_its_configuration_is_restarted(api):
    api.add(kueue_deployment(), config("a: 1\n"), kueue_pod())
    await advance(10)
    api.change(ConfigMap, NAME, "kueue-system", data={KEY: "multiKueue: {dispatcherName: fleetqueue.dev/dispatcher}"})
    said = []

    await install(Client(api), "kueue-system", "", said.append)

    assert said == ["Kueue leaves dispatching to fleetqueue, and is restarted"]


@pytest.mark.parametrize(
    ("text", "has_deployment", "said"),
    [
        pytest.param("a: 1", True, "set ours with --dispatcher", id="Kueue's own"),
        pytest.param(OURS, True, "Kueue leaves dispatching to fleetqueue already", id="ours"),
        pytest.param(OURS, False, RESTART_BY_HAND, id="ours, and Kueue out of sight"),
        pytest.param(None, True, "who dispatches cannot be seen: ConfigMap", id="no configuration"),
    ],
)
async def test_who_dispatches_is_told_as_it_is(api, text, has_deployment, said):
    if has_deployment:
        api.add(kueue_deployment())
    if text is not None:
        api.add(config(text))

    assert said in await state(Client(api), "kueue-system", "")
    assert api.writes == []


@pytest.mark.parametrize(
    ("namespace", "config_map", "missing"),
    [
        pytest.param("nope", "", f"nope/{NAME}", id="another namespace"),
        pytest.param("kueue-system", "nope", "kueue-system/nope", id="another ConfigMap"),
    ],
)
async def test_who_dispatches_where_kueue_is_not_is_an_error(api, namespace, config_map, missing):
    api.add(kueue_deployment(), config("a: 1"))

    with pytest.raises(NoKueueConfig, match=f'^ConfigMap "{missing}" .* is missing.* with --config-map$'):
        await state(Client(api), namespace, config_map)


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_a_restart_that_is_due_is_told_with_who_dispatches(api):
    api.add(kueue_deployment(), config("a: 1\n"), kueue_pod())
    await advance(10)
    api.change(ConfigMap, NAME, "kueue-system", data={KEY: OURS})

    assert "Kueue waits for a restart: --dispatcher" in await state(Client(api), "kueue-system", "")


async def test_without_a_deployment_nobody_is_told_that_kueue_is_restarted(api):
    api.add(config("a: 1\n"))
    said = []

    await install(Client(api), "kueue-system", "", said.append)
    await install(Client(api), "kueue-system", "", said.append)

    assert said == [f"Kueue's configuration leaves dispatching to fleetqueue; {RESTART_BY_HAND}"] * 2


@pytest.mark.embedded_only("a real server has a clock of its own")
async def test_kueue_waits_for_a_restart_while_a_pod_is_older_than_the_change(api):
    api.add(kueue_deployment(), config("a: 1\n"))
    await advance(10)
    api.add(kueue_pod())
    before = await waits_for_a_restart(Client(api), "kueue-system")
    await advance(10)
    api.change(ConfigMap, NAME, "kueue-system", data={KEY: "a: 2\n"})

    assert (before, await waits_for_a_restart(Client(api), "kueue-system")) == (False, True)

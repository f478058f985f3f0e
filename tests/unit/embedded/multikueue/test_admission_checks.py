"""What an AdmissionCheck of MultiKueue's says."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.multikueue.admission_checks import active

from .objects import CHECK

GOOD = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "x"}
BAD = "False BadConfig: Cannot load the AdmissionChecks parameters: "


def said(parameters, listed, clusters):
    spec = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, **({"parameters": parameters} if parameters else {})}
    check = kueue.AdmissionCheck.view(kueue.AdmissionCheck.manifest("c", spec=spec))
    config = kueue.MultiKueueConfig.view(kueue.MultiKueueConfig.manifest("x", spec={"clusters": listed or []}))
    told = active(check, config if listed is not None else None, clusters)
    return f"{told.status} {told.reason}: {told.message}"


@pytest.mark.parametrize(
    ("parameters", "listed", "clusters", "expected"),
    [
        (GOOD, ["a", "b"], {"a": True, "b": True}, "True Active: The admission check is active"),
        (GOOD, ["a", "b"], {"a": True}, "True SomeActiveClusters: Missing clusters: [b]"),
        (GOOD, ["a", "b"], {"a": True, "b": False}, "True SomeActiveClusters: Inactive clusters: [b]"),
        (GOOD, ["a", "b"], {}, "False NoUsableClusters: Missing clusters: [a b]"),
        (GOOD, ["a", "b"], {"b": False}, "False NoUsableClusters: Missing clusters: [a], Inactive clusters: [b]"),
        (GOOD, None, {}, f'{BAD}MultiKueueConfig.kueue.x-k8s.io "x" not found'),
        (None, None, {}, f"{BAD}missing parameters reference"),
        ({**GOOD, "name": ""}, None, {}, f"{BAD}empty name: bad parameters reference"),
        (
            {**GOOD, "apiGroup": "g"},
            None,
            {},
            f'{BAD}wrong group "g", expecting "kueue.x-k8s.io": bad parameters reference',
        ),
        (
            {**GOOD, "kind": "K"},
            None,
            {},
            f'{BAD}wrong kind "K", expecting "MultiKueueConfig": bad parameters reference',
        ),
    ],
)
def test_active(parameters, listed, clusters, expected):
    assert said(parameters, listed, clusters) == expected


@pytest.mark.fleet(scenario="api")
async def test_it_follows_the_clusters_and_the_config(env):
    env.arrange()
    async with env.multikueue():
        seen = [env.active(kueue.AdmissionCheck, CHECK)]
        env.fleet.cut("cluster2")
        await env.fleet.advance(10)
        seen.append(env.active(kueue.AdmissionCheck, CHECK))
        env.hub.remove(kueue.MultiKueueCluster, "cluster2")
        await env.fleet.settle()
        seen.append(env.active(kueue.AdmissionCheck, CHECK))
        env.hub.remove(kueue.MultiKueueConfig, "mk-config")
        await env.fleet.settle()
        seen.append(env.active(kueue.AdmissionCheck, CHECK))

    assert seen == [
        "True Active: The admission check is active",
        "True SomeActiveClusters: Inactive clusters: [cluster2]",
        "True SomeActiveClusters: Missing clusters: [cluster2]",
        f'{BAD}MultiKueueConfig.kueue.x-k8s.io "mk-config" not found',
    ]


@pytest.mark.fleet(scenario="api")
async def test_it_can_say_what_old_versions_said_too(env):
    env.arrange()
    async with env.multikueue(old_conditions=True):
        pass

    found = {each.type: each.status for each in env.hub.get(kueue.AdmissionCheck, CHECK).status.conditions}
    assert found == {"Active": "True", "SingleInstanceInClusterQueue": "True", "FlavorIndependent": "True"}

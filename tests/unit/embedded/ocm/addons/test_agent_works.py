"""In which works the agent of an add-on comes."""

import pytest

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.embedded.ocm.addons.agent_works import LIMIT, deploy_works, guessed_resource, manifest_configs

from .objects import NAME, deployment

THIS = addon.ManagedClusterAddOn.view({"metadata": {"name": NAME, "namespace": "c1", "uid": "u"}})


def test_objects_stay_in_the_work_that_holds_them():
    one, two, three = (deployment(name) for name in ("one", "two", "three"))
    existing = [("addon-hello-deploy-0", [three, one]), ("addon-hello-deploy-1", [two])]

    works = deploy_works(THIS, [one, three], [], existing)

    [work] = works
    assert work["metadata"]["name"] == "addon-hello-deploy-0"
    assert [each["metadata"]["name"] for each in work["spec"]["workload"]["manifests"]] == ["three", "one"]


def test_objects_that_do_not_fit_into_one_work_come_in_two():
    big = [{**deployment(name), "data": "x" * (LIMIT // 2)} for name in ("one", "two", "three")]

    works = deploy_works(THIS, big, [], [])

    assert [work["metadata"]["name"] for work in works] == [f"addon-hello-deploy-{n}" for n in range(3)]


def test_an_object_that_shall_stay_is_orphaned():
    kept = deployment()
    kept["metadata"]["annotations"] = {addon.DELETION_ORPHAN: ""}

    [work] = deploy_works(THIS, [kept], [], [])

    [rule] = work["spec"]["deleteOption"]["selectivelyOrphans"]["orphaningRules"]
    assert (rule["group"], rule["resource"], rule["name"]) == ("apps", "deployments", "agent")


def test_what_a_template_asks_to_be_told_is_asked_besides_the_well_known():
    own = {
        "resourceIdentifier": {"group": "apps", "resource": "deployments", "name": "agent", "namespace": "default"},
        "feedbackRules": [
            {"type": "JSONPaths", "jsonPaths": [{"name": "x", "path": ".x"}]},
            {"type": "WellKnownStatus"},
        ],
    }

    [config] = manifest_configs([deployment()], [own])

    assert [rule["type"] for rule in config["feedbackRules"]] == ["WellKnownStatus", "JSONPaths"]


@pytest.mark.parametrize(
    ("kind", "plural"), [("Pod", "pods"), ("Ingress", "ingresses"), ("NetworkPolicy", "networkpolicies")]
)
def test_plurals(kind, plural):
    assert guessed_resource(kind) == plural

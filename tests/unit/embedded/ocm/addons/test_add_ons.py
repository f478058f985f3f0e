"""From an add-on and its Placement to its agent on the clusters, and back."""

import pytest

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.rbac_v1 import RoleBinding
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle

from .objects import (
    NAME,
    SIGNER,
    add_on,
    by_placement,
    config_kind,
    decision,
    deployment_config,
    kube_client,
    placement,
    template,
)


async def test_an_add_on_comes_onto_the_clusters_that_its_placement_chose_and_goes_from_others(stage):
    stage.api.add(add_on(by_placement()), placement(), decision("c1"))
    async with stage.manager():
        first = (stage.installed("c1"), stage.installed("c2"))
        stage.api.change(cluster.PlacementDecision, "p-decision-1", "ns", status={"decisions": [_chosen("c2")]})
        await advance(1)

    assert first[0] is not None
    assert first[1] is None
    assert stage.installed("c1") is None
    [owner] = stage.installed("c2").metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("ClusterManagementAddOn", NAME, True)


async def test_an_add_on_that_is_installed_by_hand_stays_and_is_owned(stage):
    stage.api.add(add_on(), addon.ManagedClusterAddOn.manifest(NAME, "c1", spec={}))

    async with stage.manager():
        await advance(1)

    assert [owner.name for owner in stage.installed("c1").metadata.owner_references] == [NAME]


async def test_an_add_on_that_looks_after_itself_is_left_alone(stage):
    stage.api.add(
        add_on(by_placement(), annotations={addon.LIFECYCLE: "self"}), placement(), decision("c1"), template()
    )

    async with stage.manager():
        await advance(1)

    assert stage.installed("c1") is None
    [default] = stage.of_all()["defaultconfigReferences"]
    assert default["desiredConfig"]["name"] == "hello-1"


async def test_a_template_is_deployed_once_it_is_configured_and_registered(stage):
    stage.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))
    async with stage.manager():
        await advance(1)
        before = stage.said()
        stage.apply()
        await advance(1)

    assert before["Configured"] == ("True", "ConfigurationsConfigured", "Configurations configured")
    assert before["RegistrationApplied"] == (
        "True",
        "SetPermissionApplied",
        "Registration of the addon agent is configured",
    )
    assert before["Progressing"][1] == "WaitingForManifestApplied"
    assert "ManifestApplied" not in before
    assert stage.said()["ManifestApplied"] == (
        "True",
        "AddonManifestApplied",
        "manifests of addon are applied successfully",
    )
    assert stage.said()["Available"] == ("True", "ProbeAvailable", "hello add-on is available.")
    assert stage.said()["Progressing"] == ("False", "Completed", "completed with no errors.")
    work = stage.work()
    assert work.metadata.labels == {addon.ADD_ON_LABEL: NAME}
    assert [owner.kind for owner in work.metadata.owner_references] == ["ManagedClusterAddOn"]


async def test_the_status_tells_of_configurations_and_registrations(stage):
    stage.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))
    async with stage.manager():
        await advance(1)
        stage.apply()
        await advance(1)

    status = stage.status()
    [reference] = status["configReferences"]
    assert reference["desiredConfig"] == reference["lastAppliedConfig"]
    assert len(reference["desiredConfig"]["specHash"]) == 64
    assert reference["lastObservedGeneration"] == 1
    assert status["namespace"] == "default"
    assert status["healthCheck"] == {"mode": "Customized"}
    [registration] = status["registrations"]
    assert registration["signerName"] == SIGNER
    assert registration["subject"]["user"] == "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent"
    [progression] = stage.of_all()["installProgressions"]
    [said] = progression["conditions"]
    assert (said["status"], said["reason"]) == ("False", "Completed")
    assert said["message"] == "1/1 completed with no errors, 0 failed 0 timeout."


async def test_the_agent_may_do_on_the_hub_what_its_template_asks_for(stage):
    stage.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))

    async with stage.manager():
        await advance(1)

    binding = stage.api.raw(RoleBinding, "open-cluster-management:hello:clusterrole:agent", "c1")
    assert binding["roleRef"]["name"] == "hello-role"
    assert [subject["name"] for subject in binding["subjects"]] == [
        "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent",
        "system:open-cluster-management:cluster:c1:addon:hello",
        "system:open-cluster-management:addon:hello",
    ]
    assert binding["metadata"]["ownerReferences"][0]["uid"] == stage.installed().uid


async def test_a_quiet_add_on_is_written_about_no_more(stage):
    stage.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1", "c2"))
    async with stage.manager():
        await advance(1)
        stage.apply("c1")
        stage.apply("c2")
        await advance(5)
    stage.api.writes.clear()

    async with stage.manager():
        await advance(600)

    assert stage.api.writes == []


async def test_a_changed_template_changes_the_work(stage):
    stage.api.add(template(), add_on(by_placement()), placement(), decision("c1"))
    async with stage.manager():
        await advance(1)
        stage.apply()
        await advance(1)
        changed = template({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}})
        stage.api.change(addon.AddOnTemplate, "hello-1", spec=changed["spec"])
        await advance(1)
        progressing = stage.said()["Progressing"]
        stage.apply()
        await advance(1)

    assert [each["kind"] for each in stage.work().spec.workload.manifests] == ["Namespace"]
    assert progressing[:2] == ("True", "Progressing")
    assert stage.said()["Progressing"][1] == "Completed"


async def test_values_of_a_cluster_outrank_those_of_its_placement_and_those_the_defaults(stage):
    kind = config_kind(addon.DEPLOYMENT_CONFIGS, {"name": "default", "namespace": "ns"})
    of_placement = {"group": addon.GROUP, "resource": addon.DEPLOYMENT_CONFIGS, "name": "placed", "namespace": "ns"}
    own = {**of_placement, "name": "own"}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "default"},
        "data": {"value": "{{WHO}} on {{CLUSTER_NAME}}{{NOBODY}}"},
    }
    stage.api.add(
        *(values_of(name) for name in ("default", "placed", "own")),
        template(config_map),
        addon.ManagedClusterAddOn.manifest(NAME, "c2", spec={"configs": [own]}),
        add_on(by_placement(configs=[of_placement]), configs=[kind]),
        placement(),
        decision("c1", "c2"),
    )

    async with stage.manager():
        await advance(1)

    values = [stage.work(on).spec.workload.manifests[0]["data"]["value"] for on in ("c1", "c2")]
    assert values == ["placed on c1", "own on c2"]
    assert stage.work("c1").spec.workload.manifests[0]["metadata"]["namespace"] == addon.INSTALL_NAMESPACE


async def test_a_progressive_rollout_waits_for_the_cluster_before(stage):
    slow = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    stage.api.add(template(), add_on(by_placement(rolloutStrategy=slow)), placement(), decision("c1", "c2"))
    async with stage.manager():
        await advance(1)
        waiting = stage.said("c2")
        stage.apply("c1")
        await advance(1)
        stage.apply("c2")
        await advance(1)

    assert waiting["Configured"] == (
        "False",
        "ConfigurationsNotConfigured",
        "Configurations updated and not configured yet",
    )
    assert stage.said("c2")["Progressing"][1] == "Completed"
    [said] = stage.of_all()["installProgressions"][0]["conditions"]
    assert said["message"] == "2/2 completed with no errors, 0 failed 0 timeout."


async def test_a_template_that_is_missing_is_waited_for(stage):
    stage.api.add(add_on(by_placement()), placement(), decision("c1"))
    async with stage.manager():
        await advance(1)
        before = stage.said()
        stage.api.add(template())
        await advance(1)

    assert "RegistrationApplied" not in before
    assert before["Progressing"][1] == "WaitingForManifestApplied"
    assert stage.work() is not None


@pytest.mark.parametrize(
    ("ready", "replicas", "said"),
    [
        pytest.param(1, 1, ("True", "ProbeAvailable"), id="runs"),
        pytest.param(0, 0, ("True", "ProbeAvailable"), id="nothing is wanted"),
        pytest.param(0, 1, ("False", "ProbeUnavailable"), id="does not run"),
    ],
)
async def test_an_add_on_is_as_well_as_its_deployments(stage, ready, replicas, said):
    stage.api.add(template(), add_on(by_placement()), placement(), decision("c1"))
    async with stage.manager():
        await advance(1)
        stage.apply(ready=ready, replicas=replicas)
        await advance(1)

    assert stage.said()["Available"][:2] == said


async def test_an_add_on_waits_for_its_hook_before_it_goes(stage):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "bye", "namespace": "default", "annotations": {addon.PRE_DELETE_HOOK: ""}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}},
    }
    stage.api.add(template(job), add_on(), addon.ManagedClusterAddOn.manifest(NAME, "c1", spec={}))
    async with stage.manager():
        await advance(1)
        stage.api.remove(addon.ManagedClusterAddOn, NAME, "c1")
        await advance(1)
        waiting = stage.said()["HookManifestCompleted"]
        _end_hook(stage)
        await advance(1)

    assert waiting == (
        "False",
        "HookManifestIsNotCompleted",
        "hook manifestWork addon-hello-pre-delete is not completed.",
    )
    assert stage.installed() is None


async def test_a_write_that_fails_halfway_is_made_up_for(stage):
    stage.api.fail_on("create manifestworks/c1/*", errors.Unreachable("cut"), times=1)
    stage.api.fail_on("patch managedclusteraddons/c1/hello/status", errors.Unreachable("cut"), times=2)
    stage.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))

    async with stage.manager():
        await advance(30)
        await settle()

    assert stage.work() is not None


def values_of(name):
    return deployment_config(name, customizedVariables=[{"name": "WHO", "value": name}])


def _chosen(name):
    return {"clusterName": name, "reason": ""}


def _end_hook(stage):
    name = f"addon-{NAME}-pre-delete"
    meta = {
        "ordinal": 0,
        "group": "batch",
        "version": "v1",
        "kind": "Job",
        "resource": "jobs",
        "name": "bye",
        "namespace": "default",
    }
    values = [{"name": "JobComplete", "fieldValue": {"type": "String", "string": "True"}}]
    manifests = [{"resourceMeta": meta, "statusFeedback": {"values": values}, "conditions": []}]
    status = {"conditions": [condition("Available")], "resourceStatus": {"manifests": manifests}}
    stage.api.change(ManifestWork, name, "c1", status=status)

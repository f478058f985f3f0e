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


async def test_an_add_on_comes_onto_the_clusters_that_its_placement_chose_and_goes_from_others(env):
    env.api.add(add_on(by_placement()), placement(), decision("c1"))
    async with env.manager():
        first = (env.installed("c1"), env.installed("c2"))
        env.api.change(cluster.PlacementDecision, "p-decision-1", "ns", status={"decisions": [_chosen("c2")]})
        await advance(1)

    assert first[0] is not None
    assert first[1] is None
    assert env.installed("c1") is None
    [owner] = env.installed("c2").metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("ClusterManagementAddOn", NAME, True)


async def test_an_add_on_that_is_installed_by_hand_stays_and_is_owned(env):
    env.api.add(add_on(), addon.ManagedClusterAddOn.manifest(NAME, "c1", spec={}))

    async with env.manager():
        await advance(1)

    assert [owner.name for owner in env.installed("c1").metadata.owner_references] == [NAME]


async def test_an_add_on_that_looks_after_itself_is_left_alone(env):
    env.api.add(add_on(by_placement(), annotations={addon.LIFECYCLE: "self"}), placement(), decision("c1"), template())

    async with env.manager():
        await advance(1)

    assert env.installed("c1") is None
    [default] = env.of_all()["defaultconfigReferences"]
    assert default["desiredConfig"]["name"] == "hello-1"
    assert env.api.get(addon.ClusterManagementAddOn, NAME).metadata.annotations == {addon.LIFECYCLE: ""}


async def test_a_template_is_deployed_once_it_is_configured_and_registered(env):
    env.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))
    async with env.manager():
        await advance(1)
        before = env.said()
        env.apply()
        await advance(1)

    assert before["Configured"] == ("True", "ConfigurationsConfigured", "Configurations configured")
    assert before["RegistrationApplied"] == (
        "True",
        "SetPermissionApplied",
        "Registration of the addon agent is configured",
    )
    assert before["Progressing"][1] == "WaitingForManifestApplied"
    assert "ManifestApplied" not in before
    assert env.said()["ManifestApplied"] == (
        "True",
        "AddonManifestApplied",
        "manifests of addon are applied successfully",
    )
    assert env.said()["Available"] == ("True", "ProbeAvailable", "hello add-on is available.")
    assert env.said()["Progressing"] == ("False", "Completed", "completed with no errors.")
    work = env.work()
    assert work.metadata.labels == {addon.ADD_ON_LABEL: NAME}
    assert [owner.kind for owner in work.metadata.owner_references] == ["ManagedClusterAddOn"]


async def test_the_status_tells_of_configurations_and_registrations(env):
    env.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))
    async with env.manager():
        await advance(1)
        env.apply()
        await advance(1)

    status = env.status()
    [reference] = status["configReferences"]
    assert reference["desiredConfig"] == reference["lastAppliedConfig"]
    assert len(reference["desiredConfig"]["specHash"]) == 64
    assert reference["lastObservedGeneration"] == 1
    assert status["namespace"] == "default"
    assert status["healthCheck"] == {"mode": "Customized"}
    [registration] = status["registrations"]
    assert registration["signerName"] == SIGNER
    assert registration["subject"]["user"] == "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent"
    [progression] = env.of_all()["installProgressions"]
    [said] = progression["conditions"]
    assert (said["status"], said["reason"]) == ("False", "Completed")
    assert said["message"] == "1/1 completed with no errors, 0 failed 0 timeout."


async def test_the_agent_may_do_on_the_hub_what_its_template_asks_for(env):
    env.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))

    async with env.manager():
        await advance(1)

    binding = env.api.raw(RoleBinding, "open-cluster-management:hello:clusterrole:agent", "c1")
    assert binding["roleRef"]["name"] == "hello-role"
    assert [subject["name"] for subject in binding["subjects"]] == [
        "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent",
        "system:open-cluster-management:cluster:c1:addon:hello",
        "system:open-cluster-management:addon:hello",
    ]
    assert binding["metadata"]["ownerReferences"][0]["uid"] == env.installed().uid


async def test_a_quiet_add_on_is_written_about_no_more(env):
    env.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1", "c2"))
    async with env.manager():
        await advance(1)
        env.apply("c1")
        env.apply("c2")
        await advance(5)
    env.api.writes.clear()

    async with env.manager():
        await advance(600)

    assert env.api.writes == []


async def test_a_changed_template_changes_the_work(env):
    env.api.add(template(), add_on(by_placement()), placement(), decision("c1"))
    async with env.manager():
        await advance(1)
        env.apply()
        await advance(1)
        changed = template({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}})
        env.api.change(addon.AddOnTemplate, "hello-1", spec=changed["spec"])
        await advance(1)
        progressing = env.said()["Progressing"]
        env.apply()
        await advance(1)

    assert [each["kind"] for each in env.work().spec.workload.manifests] == ["Namespace"]
    assert progressing[:2] == ("True", "Progressing")
    assert env.said()["Progressing"][1] == "Completed"


async def test_values_of_a_cluster_outrank_those_of_its_placement_and_those_the_defaults(env):
    kind = config_kind(addon.DEPLOYMENT_CONFIGS, {"name": "default", "namespace": "ns"})
    of_placement = {"group": addon.GROUP, "resource": addon.DEPLOYMENT_CONFIGS, "name": "placed", "namespace": "ns"}
    own = {**of_placement, "name": "own"}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "x", "namespace": "default"},
        "data": {"value": "{{WHO}} on {{CLUSTER_NAME}}{{NOBODY}}"},
    }
    env.api.add(
        *(values_of(name) for name in ("default", "placed", "own")),
        template(config_map),
        addon.ManagedClusterAddOn.manifest(NAME, "c2", spec={"configs": [own]}),
        add_on(by_placement(configs=[of_placement]), configs=[kind]),
        placement(),
        decision("c1", "c2"),
    )

    async with env.manager():
        await advance(1)

    values = [env.work(on).spec.workload.manifests[0]["data"]["value"] for on in ("c1", "c2")]
    assert values == ["placed on c1", "own on c2"]
    assert env.work("c1").spec.workload.manifests[0]["metadata"]["namespace"] == addon.INSTALL_NAMESPACE


async def test_a_progressive_rollout_waits_for_the_cluster_before(env):
    slow = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    env.api.add(template(), add_on(by_placement(rolloutStrategy=slow)), placement(), decision("c1", "c2"))
    async with env.manager():
        await advance(1)
        waiting = env.said("c2")
        env.apply("c1")
        await advance(1)
        env.apply("c2")
        await advance(1)

    assert waiting["Configured"] == (
        "False",
        "ConfigurationsNotConfigured",
        "Configurations updated and not configured yet",
    )
    assert env.said("c2")["Progressing"][1] == "Completed"
    [said] = env.of_all()["installProgressions"][0]["conditions"]
    assert said["message"] == "2/2 completed with no errors, 0 failed 0 timeout."


async def test_a_template_that_is_missing_is_waited_for(env):
    env.api.add(add_on(by_placement()), placement(), decision("c1"))
    async with env.manager():
        await advance(1)
        before = env.said()
        env.api.add(template())
        await advance(1)

    assert "RegistrationApplied" not in before
    assert before["Progressing"][1] == "WaitingForManifestApplied"
    assert env.work() is not None


@pytest.mark.parametrize(
    ("ready", "replicas", "said"),
    [
        pytest.param(1, 1, ("True", "ProbeAvailable"), id="runs"),
        pytest.param(0, 0, ("True", "ProbeAvailable"), id="nothing is wanted"),
        pytest.param(0, 1, ("False", "ProbeUnavailable"), id="does not run"),
    ],
)
async def test_an_add_on_is_as_well_as_its_deployments(env, ready, replicas, said):
    env.api.add(template(), add_on(by_placement()), placement(), decision("c1"))
    async with env.manager():
        await advance(1)
        env.apply(ready=ready, replicas=replicas)
        await advance(1)

    assert env.said()["Available"][:2] == said


async def test_an_add_on_waits_for_its_hook_before_it_goes(env):
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "bye", "namespace": "default", "annotations": {addon.PRE_DELETE_HOOK: ""}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x"}]}}},
    }
    env.api.add(template(job), add_on(), addon.ManagedClusterAddOn.manifest(NAME, "c1", spec={}))
    async with env.manager():
        await advance(1)
        env.api.remove(addon.ManagedClusterAddOn, NAME, "c1")
        await advance(1)
        waiting = env.said()["HookManifestCompleted"]
        _end_hook(env)
        await advance(1)

    assert waiting == (
        "False",
        "HookManifestIsNotCompleted",
        "hook manifestWork addon-hello-pre-delete is not completed.",
    )
    assert env.installed() is None


async def test_a_write_that_fails_halfway_is_made_up_for(env):
    env.api.fail_on("create manifestworks/c1/*", errors.Unreachable("cut"), times=1)
    env.api.fail_on("patch managedclusteraddons/c1/hello/status", errors.Unreachable("cut"), times=2)
    env.api.add(template(registration=kube_client()), add_on(by_placement()), placement(), decision("c1"))

    async with env.manager():
        await advance(30)
        await settle()

    assert env.work() is not None


def values_of(name):
    return deployment_config(name, customizedVariables=[{"name": "WHO", "value": name}])


def _chosen(name):
    return {"clusterName": name, "reason": ""}


def _end_hook(env):
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
    env.api.change(ManifestWork, name, "c1", status=status)

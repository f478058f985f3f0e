"""A hub on which ClusterPermissions become works, and say what became of them; the test plays the work agent."""

import pytest

from fleetqueue.api import conditions, errors
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.embedded.ocm.cluster_permissions import wiring
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

from .objects import (
    ADD_ON,
    CLUSTER,
    EU,
    MANAGED,
    NAME,
    RULES,
    USER,
    VIEW,
    account_manifest,
    add_on_manifest,
    cluster_manifest,
    permission_manifest,
)

SIMPLE = {"clusterRole": {"rules": RULES}, "clusterRoleBinding": {"subject": USER}}
BY_ACCOUNT = {"clusterRoleBinding": {"subject": MANAGED}}


def hint(name):
    command = f"kubectl -n {CLUSTER} get ManifestWork {name} -o yaml"
    return f"\nRun the following command to check the ManifestWork status:\n{command}"


class Environment:
    def __init__(self, api, hub):
        self.api = api
        self.hub = hub
        api.namespace(CLUSTER)

    def at_work(self):
        return managed(Manager(self.hub, wiring.controllers(self.hub, Metrics())))

    def works(self):
        return [work for work in self.api.list(ManifestWork) if work.namespace == CLUSTER]

    def work(self):
        [found] = self.works()
        return found

    def kinds(self):
        return [each["kind"] for each in self.work().spec.workload.manifests]

    def said(self):
        found = self.api.get(ClusterPermission, NAME, CLUSTER).status.conditions
        return {each.type: (each.status, each.reason, each.message) for each in found}

    def resources(self):
        return self.api.raw(ClusterPermission, NAME, CLUSTER)["status"].get("resourceStatus")

    def report(self, applied=True, *, message="Apply manifest work complete", missing=()):
        """Do what the work agent does."""
        work = self.work()
        manifests = [
            {
                "resourceMeta": {
                    "ordinal": place,
                    "group": "rbac.authorization.k8s.io",
                    "version": "v1",
                    "kind": each["kind"],
                    "resource": each["kind"].lower() + "s",
                    "name": each["metadata"]["name"],
                    "namespace": each["metadata"].get("namespace", ""),
                },
                "conditions": [
                    condition("Applied", applied, "AppliedManifestComplete", message),
                    condition("Available", each["metadata"]["name"] not in missing, "ResourceAvailable"),
                ],
            }
            for place, each in enumerate(work.spec.workload.manifests)
        ]
        said = [condition("Applied", applied, "AppliedManifestWorkComplete", message)]
        status = {"conditions": said, "resourceStatus": {"manifests": manifests}}
        self.api.change(ManifestWork, work.name, CLUSTER, status=status)


@pytest.fixture
def env(api, hub):
    return Environment(api, hub)


async def test_work_is_named_and_owned_by_its_permission(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()

    permission, work = env.api.get(ClusterPermission, NAME, CLUSTER), env.work()
    assert work.name == f"{NAME}-{permission.uid[:5]}"
    assert env.kinds() == ["ClusterRole", "ClusterRoleBinding"]
    [owner] = env.api.raw(ManifestWork, work.name, CLUSTER)["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "rbac.open-cluster-management.io/v1alpha1",
        "kind": "ClusterPermission",
        "name": NAME,
        "uid": permission.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def test_permission_says_what_became_of_its_work(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        name = env.work().name
        not_complete = "Apply RBAC manifestWork not complete" + hint(name)
        assert env.said() == {"AppliedRBACManifestWork": ("False", "ApplyRBACManifestWorkNotComplete", not_complete)}
        env.report()
        await settle()

        complete = "Apply manifest work complete" + hint(name)
        assert env.said() == {"AppliedRBACManifestWork": ("True", "AppliedManifestWorkComplete", complete)}
        resources = env.resources()
        assert sorted(resources) == ["clusterRoleBindings", "clusterRoles"]
        [role] = resources["clusterRoles"]
        [applied] = role["condition"]
        assert role["name"] == NAME
        assert (applied["type"], applied["status"], applied["reason"], applied["message"]) == (
            "Applied",
            "True",
            "AppliedManifestComplete",
            "Apply manifest complete",
        )


async def test_failed_work_is_told_of(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        env.report(applied=False, message="no rights")
        await settle()

        assert env.said()["AppliedRBACManifestWork"] == (
            "False",
            "AppliedManifestWorkComplete",
            "no rights" + hint(env.work().name),
        )
        assert env.resources()["clusterRoles"][0]["condition"][0]["reason"] == "FailedApplyManifest"


async def test_second_look_writes_nothing(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        env.report()
        await settle()
        env.api.writes.clear()
        env.api.change(ClusterPermission, NAME, CLUSTER, metadata={"annotations": {"look": "again"}})
        await advance(60)

        assert env.api.writes == []


async def test_work_follows_its_permission(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        name = env.work().name
        more = {"roleBindings": [{"namespace": "n", "subject": USER, "roleRef": {"kind": "Role"}}]}
        env.api.change(ClusterPermission, NAME, CLUSTER, spec={"clusterRole": None, **more})
        await settle()

        assert env.work().name == name
        assert env.kinds() == ["ClusterRoleBinding", "RoleBinding"]


async def test_work_that_somebody_changed_or_deleted_is_put_right(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        env.api.change(ManifestWork, env.work().name, CLUSTER, spec={"workload": {"manifests": []}})
        await settle()
        assert env.kinds() == ["ClusterRole", "ClusterRoleBinding"]
        env.api.remove(ManifestWork, env.work().name, CLUSTER)
        await settle()

        assert env.kinds() == ["ClusterRole", "ClusterRoleBinding"]


@pytest.mark.parametrize(
    ("spec", "is_cluster", "said"),
    [
        pytest.param(
            {"clusterRole": {"rules": RULES}},
            True,
            ("False", "FailedValidationNoBindingsDefined", "no bindings defined"),
            id="nobody is bound",
        ),
        pytest.param(
            SIMPLE,
            False,
            ("False", "FailedValidationNotInManagedClusterNamespace", "namespace value is not a managed cluster"),
            id="not in the namespace of a cluster",
        ),
    ],
)
async def test_permission_that_is_not_valid_makes_no_work(env, spec, is_cluster, said):
    env.api.add(*([cluster_manifest()] if is_cluster else []), permission_manifest(**spec))

    async with env.at_work():
        await settle()

        assert env.works() == []
        assert env.said() == {"Validation": said}


async def test_permission_that_becomes_valid_says_so_no_more(env):
    env.api.add(permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        assert list(env.said()) == ["Validation"]
        env.api.add(cluster_manifest())
        await settle()

        assert list(env.said()) == ["AppliedRBACManifestWork"]
        assert env.kinds() == ["ClusterRole", "ClusterRoleBinding"]


async def test_what_a_permission_names_may_come_after_it(env):
    env.api.add(cluster_manifest(), permission_manifest(**BY_ACCOUNT))

    async with env.at_work():
        await settle()
        missing = 'ManagedServiceAccount.authentication.open-cluster-management.io "app" not found'
        assert env.said() == {"AppliedRBACManifestWork": ("False", "FailedBuildManifestWork", missing)}
        env.api.add(account_manifest())
        await settle()
        missing = 'ManagedClusterAddOn.addon.open-cluster-management.io "managed-serviceaccount" not found'
        assert env.said() == {"AppliedRBACManifestWork": ("False", "FailedBuildManifestWork", missing)}
        env.api.add(add_on_manifest())
        await settle()

        [binding] = env.work().spec.workload.manifests
        account = {"kind": "ServiceAccount", "name": "app", "namespace": "open-cluster-management-agent-addon"}
        assert binding["subjects"] == [account]


async def test_accounts_move_with_the_add_on(env):
    env.api.add(cluster_manifest(), account_manifest(), add_on_manifest(), permission_manifest(**BY_ACCOUNT))

    async with env.at_work():
        await settle()
        env.api.change(ManagedClusterAddOn, ADD_ON, CLUSTER, status={"namespace": "elsewhere"})
        await settle()

        assert env.work().spec.workload.manifests[0]["subjects"][0]["namespace"] == "elsewhere"


async def test_namespaces_are_chosen_by_the_labels_that_they_have_on_the_hub(env):
    binding = {"namespaceSelector": EU, "subject": USER, "roleRef": {"kind": "Role"}}
    env.api.add(cluster_manifest(), permission_manifest(roleBindings=[binding]))

    async with env.at_work():
        await settle()
        assert env.kinds() == []
        env.api.add(Namespace.manifest("paris", labels={"region": "eu"}))
        await settle()

        assert env.work().spec.workload.manifests[0]["metadata"]["namespace"] == "paris"


async def test_roles_that_bindings_name_are_looked_for_where_that_is_wanted(env):
    spec = {"validate": True, "clusterRoleBinding": {"subject": USER, "roleRef": VIEW}}
    env.api.add(cluster_manifest(), permission_manifest(**spec))

    async with env.at_work():
        await settle()
        work = env.api.raw(ManifestWork, env.work().name, CLUSTER)
        assert env.kinds() == ["ClusterRoleBinding", "ClusterRole"]
        assert work["spec"]["manifestConfigs"] == [
            {
                "resourceIdentifier": {
                    "group": "rbac.authorization.k8s.io",
                    "resource": "clusterroles",
                    "name": "view",
                    "namespace": "",
                },
                "updateStrategy": {"type": "ReadOnly"},
                "feedbackScrapeType": "Poll",  # the server's own default
            }
        ]
        env.report(missing=["view"])
        await settle()
        assert env.said()["ValidateClusterRolesExist"] == (
            "False",
            "ClusterRolesNotFound",
            "The following cluster roles were not found: view",
        )
        assert env.said()["ValidateRolesExist"] == ("True", "AllRolesFound", "All referenced roles were found")
        env.report()
        await settle()

        found = ("True", "AllClusterRolesFound", "All referenced cluster roles were found")
        assert env.said()["ValidateClusterRolesExist"] == found
        env.api.writes.clear()
        await advance(60)
        assert env.api.writes == []


@pytest.mark.parametrize("arrives", [True, False])
@pytest.mark.parametrize("write", ["create manifestworks/*", "patch clusterpermissions/*/status"])
async def test_write_that_is_lost_is_made_good(env, write, arrives):
    env.api.fail_on(write, errors.Unreachable("lost"), times=1, applied=arrives)
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await advance(5)

        assert len(env.works()) == 1
        assert env.said()["AppliedRBACManifestWork"][1] == "ApplyRBACManifestWorkNotComplete"


async def test_conditions_of_others_stay(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))
    env.api.change(ClusterPermission, NAME, CLUSTER, status={"conditions": [condition("Theirs")]})

    async with env.at_work():
        await settle()

    found = env.api.get(ClusterPermission, NAME, CLUSTER).status.conditions
    assert conditions.is_true(found, "Theirs")
    assert len(found) == 2


async def test_deleted_cluster_is_noticed(env):
    env.api.add(cluster_manifest(), permission_manifest(**SIMPLE))

    async with env.at_work():
        await settle()
        env.api.remove(ManagedCluster, CLUSTER)
        await settle()

        assert env.said()["Validation"][1] == "FailedValidationNotInManagedClusterNamespace"

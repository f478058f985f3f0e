"""The whole way of a credential on an embedded fleet: asked for, issued, permitted, proven, renewed, and withdrawn.

The controllers are those of four rooms, which know nothing of each other; the test plays OCM's work agent, and lets
the hub know the workers.
"""

from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from fleetqueue.api import conditions
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import ACCESS_PROVIDER, CREDENTIALS_ANNOTATION, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.kueue_v1beta2 import MultiKueueCluster
from fleetqueue.api.managed_service_account_v1beta1 import SYNC_LABEL, ManagedServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.client.kubeconfig import parse
from fleetqueue.controllers.credentials.hub_apis import discover
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.wiring import CredentialControllers
from fleetqueue.controllers.secret_reader import exec_credential, secrets_of
from fleetqueue.embedded.multikueue import wiring as multikueue
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.embedded.ocm.cluster_permissions import wiring as cluster_permissions
from fleetqueue.embedded.ocm.managed_service_accounts import wiring as managed_service_accounts
from fleetqueue.embedded.ocm.managed_service_accounts.settings import HubAccountSettings
from fleetqueue.fleets.pods.exec_plugins import plugin_runner
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import condition
from tests.invariants.second_look import managed

from .conftest import CLUSTER, profile_manifest

ACCOUNT = f"kueue-admin-{CLUSTER}"
V1 = "client.authentication.k8s.io/v1"
pytestmark = pytest.mark.fleet(workers=1, scenario="api")


@pytest.fixture
def joined(env):
    """A worker that the hub manages, with the add-on on it, and somebody who wants its credentials."""
    spec = {"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": env.admin.server}]}
    env.hub.namespace("kueue-system", "fleetqueue-system")
    env.hub.add(
        ManagedCluster.manifest(CLUSTER, annotations={CREDENTIALS_ANNOTATION: "true"}, spec=spec),
        ManagedClusterAddOn.manifest("managed-serviceaccount", CLUSTER, spec={}),
        profile_manifest(),
    )
    env.worker.namespace("kueue-system")
    return env


def hub_parts(env, settings, capabilities):
    """Return the three parts on the hub: each is a process of its own, with its own view of the hub."""
    hub, metrics = Cluster("hub", env.hub.client()), Metrics()
    credentials = CredentialControllers(hub, metrics, settings, capabilities=capabilities, dial=env.fleet.dial)
    yield Manager(hub, credentials.controllers)
    hub = Cluster("hub", env.hub.client())
    yield Manager(hub, managed_service_accounts.hub_controllers(hub, Metrics(), HubAccountSettings()))
    hub = Cluster("hub", env.hub.client())
    yield Manager(hub, cluster_permissions.controllers(hub, Metrics()))


@asynccontextmanager
async def at_work(env, **settings):
    wanted = CredentialsSettings(lifetime=3600, **settings)
    async with AsyncExitStack() as stack:
        for part in hub_parts(env, wanted, await discover(env.hub.client())):
            await stack.enter_async_context(managed(part, apis=[env.worker]))
        await stack.enter_async_context(env.agent())
        yield


async def apply_works(env):
    """Do what the work agent does."""
    for work in env.hub.list(ManifestWork):
        for manifest in work.spec.workload.manifests:
            kind = {"ClusterRole": ClusterRole, "ClusterRoleBinding": ClusterRoleBinding}[manifest["kind"]]
            if env.worker.get(kind, manifest["metadata"]["name"]) is None:
                env.worker.add(manifest)
        said = [condition("Applied", True, "AppliedManifestWorkComplete", "Apply manifest work complete")]
        env.hub.change(ManifestWork, work.name, work.namespace, status={"conditions": said})
    await env.fleet.advance(5)


def kubeconfig(env):
    secret = env.hub.get(Secret, credentials_secret(CLUSTER), "kueue-system")
    return parse(secret.text("kubeconfig")) if secret else None


async def may_list_workloads(env, token):
    page = await env.as_holder(token).read("/apis/kueue.x-k8s.io/v1beta2/workloads")
    return page["kind"] == "WorkloadList"


@pytest.mark.checklist("ENV-7")
@pytest.mark.checklist("C-1")
async def test_credential_is_brought_proven_and_renewed(joined):
    async with at_work(joined):
        await joined.fleet.settle()
        assert kubeconfig(joined) is None
        await apply_works(joined)

        first = kubeconfig(joined)
        assert (first.server, first.ca) == (joined.admin.server, joined.admin.ca)
        assert await may_list_workloads(joined, first.token)

        await joined.fleet.advance("49m")
        second = kubeconfig(joined)
        assert second.token != first.token
        assert await may_list_workloads(joined, second.token)


@pytest.mark.checklist("C-2")
async def test_credential_goes_with_its_need(joined):
    async with at_work(joined, linger=0.0):
        await apply_works(joined)
        assert kubeconfig(joined) is not None
        joined.hub.change(ManagedCluster, CLUSTER, metadata={"annotations": {CREDENTIALS_ANNOTATION: None}})
        await joined.fleet.advance(5)

        assert kubeconfig(joined) is None
        assert joined.hub.get(ManagedServiceAccount, ACCOUNT, CLUSTER) is None
        assert joined.hub.get(ClusterPermission, ACCOUNT, CLUSTER) is None
        assert joined.worker_account(ACCOUNT) is None


def multikueue_part(env):
    """Return Kueue's half that connects to workers, configured as our guide has it, without a program to run."""
    hub = Cluster("hub", env.hub.client())
    program = {"apiVersion": V1, "command": "fleetqueue", "args": ["secret-reader"], "provideClusterInfo": True}
    settings = MultiKueueSettings(
        serves_profiles=True, access_providers=({"name": ACCESS_PROVIDER, "execConfig": program},)
    )
    run_plugin = plugin_runner(env.hub.client(), "kueue-system")
    return Manager(hub, multikueue.controllers(hub, Metrics(), settings, dial=env.fleet.dial, run_plugin=run_plugin))


def connection_of(env, member):
    found = conditions.find(env.hub.get(MultiKueueCluster, member).status.conditions, "Active")
    return (found.status, found.message) if found else None


@pytest.mark.checklist("P-1")
async def test_kueue_connects_by_the_profile_and_outlives_the_first_token(joined):
    source = {"clusterProfileRef": {"name": CLUSTER}}
    joined.hub.add(MultiKueueCluster.manifest("member", spec={"clusterSource": source}))

    async with at_work(joined):
        await apply_works(joined)
        async with managed(multikueue_part(joined), apis=[joined.worker]):
            await joined.fleet.advance(5)
            assert connection_of(joined, "member") == ("True", "Connected")

            await joined.fleet.advance("2h")
            assert connection_of(joined, "member") == ("True", "Connected")


@pytest.mark.checklist("P-1")
async def test_plugin_reads_what_the_profile_names_and_what_accounts_share(joined):
    async with at_work(joined):
        await apply_works(joined)
        joined.hub.change(ManagedServiceAccount, ACCOUNT, CLUSTER, metadata={"labels": {SYNC_LABEL: "true"}})
        await joined.fleet.settle()
        read = secrets_of(joined.hub.client())

        [provider] = joined.hub.raw(ClusterProfile, CLUSTER, "kueue-system")["status"]["accessProviders"]
        told = provider["cluster"]["extensions"][0]["extension"]
        for config, account in ((told, ""), ({"clusterName": CLUSTER}, ACCOUNT)):
            cluster = {"server": provider["cluster"]["server"], "config": config}
            info = {"apiVersion": V1, "kind": "ExecCredential", "spec": {"cluster": cluster}}
            printed = await exec_credential(info, read, namespace="kueue-system", managed_service_account=account)
            assert await may_list_workloads(joined, printed["status"]["token"])

"""Who writes an object of which nothing will come is told so."""

import pytest

from fleetqueue.embedded.apiserver.auth.authentication import RequestCredentials
from fleetqueue.embedded.apiserver.auth.users import MASTERS, User
from fleetqueue.embedded.apiserver.registry.builtin import built_in
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.fleets.embedded_cluster import new_server
from fleetqueue.fleets.inert_kinds import INERT

NOT_INERT = {
    "": "componentstatuses configmaps endpoints events namespaces nodes pods podtemplates secrets"
    " serviceaccounts services",
    "apiextensions.k8s.io": "customresourcedefinitions",
    "apiregistration.k8s.io": "apiservices",
    "apps": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "batch": "cronjobs jobs",
    "certificates.k8s.io": "certificatesigningrequests",
    "coordination.k8s.io": "leases",
    "discovery.k8s.io": "endpointslices",
    "events.k8s.io": "events",
    "rbac.authorization.k8s.io": "clusterrolebindings clusterroles rolebindings roles",
    "scheduling.k8s.io": "priorityclasses",
}
"""Kinds on which a controller or the server acts, and those that are nothing but data on real clusters as well."""
BUDGET = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SAID = "an embedded cluster stores a PodDisruptionBudget and does not act on it: no eviction asks it"


@pytest.fixture
async def asked():
    """Ask a server for something; return the warnings."""
    server = await new_server(Secrets(tokens={"admin": User("admin", (MASTERS,))}))

    async def ask(method, path, body, query=None, content_type="application/json"):
        warnings = []
        credentials = RequestCredentials(token="admin")
        await server.answer(
            method, path, query or {}, credentials=credentials, body=body, content_type=content_type, warnings=warnings
        )
        return warnings

    return ask


def test_of_every_built_in_kind_it_is_known_whether_something_comes_of_it():
    served = {(one.resource.group, one.resource.plural) for one in built_in()}
    others = {(group, plural) for group, plurals in NOT_INERT.items() for plural in plurals.split()}

    assert served == {*INERT, *others}
    assert not others & INERT.keys()


async def test_who_writes_what_is_only_stored_is_warned(asked):
    assert await asked("POST", BUDGETS, BUDGET) == [SAID]
    patch = {"spec": {"minAvailable": 2}}
    assert await asked("PATCH", f"{BUDGETS}/b", patch, content_type="application/merge-patch+json") == [SAID]


async def test_a_dry_run_tells_it_as_well(asked):
    assert await asked("POST", BUDGETS, BUDGET, {"dryRun": "All"}) == [SAID]


async def test_who_deletes_it_or_writes_its_status_or_another_kind_is_not(asked):
    await asked("POST", BUDGETS, BUDGET)
    status = {"status": {"expectedPods": 3}}

    assert await asked("PATCH", f"{BUDGETS}/b/status", status, content_type="application/merge-patch+json") == []
    assert await asked("DELETE", f"{BUDGETS}/b", None) == []
    assert await asked("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}}) == []

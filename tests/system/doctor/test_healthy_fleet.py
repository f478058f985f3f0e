"""A fleet on which nothing is wrong is left alone, also while jobs run; and who sees little is told no faults."""

import json

import pytest

from fleetqueue.admin.checkups.written import as_text
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.authentication_v1 import SUBRESOURCE, issued_token, token_request
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.manifests import objects
from fleetqueue.testing.virtual_time import advance

from .examined_fleet import ExaminedFleet, told

pytestmark = pytest.mark.timeout(300)


def test_nothing_is_found_while_jobs_run():
    async def story(fleet: ExaminedFleet) -> None:
        for file in ("job-demo1.yaml", "job-demo2.yaml"):
            for job in objects(file):
                await fleet.run("create -f -", json.dumps(job))
        await advance(20)
        workloads = [kueue.Workload.view(raw) for raw in (await fleet.hub.list(kueue.Workload.resource)).items]
        diagnosis = await fleet.diagnosis()

        assert [workload.is_true(kueue.ADMITTED) for workload in workloads] == [True, True]
        assert (diagnosis.findings, diagnosis.unseen) == ((), ())
        assert diagnosis.clusters == ("hub", "cluster1", "cluster2", "cluster3")

    told(story)


def test_who_may_see_nothing_is_told_so_and_no_fault():
    async def story(fleet: ExaminedFleet) -> None:
        await fleet.apply(ServiceAccount.manifest("nobody", "default"))
        request = token_request("nobody", "default", 3600)
        token = issued_token(await fleet.hub.create(ServiceAccount.resource, request, SUBRESOURCE)).token
        await fleet.run("delete managedclustersetbinding spoke -n kueue-system")
        hub = fleet.fleet.dial(Connection(fleet.fleet.hub.url, token=token))
        diagnosis = await fleet.diagnosis(hub=hub)

        assert diagnosis.findings == ()
        assert any("secrets" in line and "you may not list them" in line for line in diagnosis.unseen)

    told(story)


@pytest.mark.parametrize("namespace", ["nosuch", "default"])
def test_who_names_another_namespace_than_kueues_is_told_so_and_nothing_else(namespace):
    async def story(fleet: ExaminedFleet) -> None:
        diagnosis = await fleet.diagnosis(kueue_namespace=namespace)

        (finding,) = diagnosis.findings
        assert (finding.code, finding.where) == ("KueueElsewhere", f"Namespace {namespace}")
        assert "name the namespace of Kueue with --kueue-namespace" in finding.steps[0].sentence

    told(story)


def test_nothing_of_any_secret_is_in_what_is_printed():
    async def story(fleet: ExaminedFleet) -> None:
        fleet.fleet.cut("cluster3")
        await fleet.run("scale deployment/fleetqueue-controller -n fleetqueue-system --replicas=0")
        await advance(60)
        diagnosis = await fleet.diagnosis()
        secrets = [Secret.view(raw) for raw in (await fleet.hub.list(Secret.resource)).items]
        contents = [value for secret in secrets for value in secret.data.values() if len(value) > 20]
        tokens = [cluster.admin_token for cluster in fleet.fleet.clusters.values()]

        assert diagnosis.findings
        assert contents
        for output in ("table", "json", "yaml"):
            text = as_text(diagnosis, output, {})
            assert [content for content in (*contents, *tokens) if content in text] == []

    told(story)

"""What the agent of a worker does for add-ons: their credentials for the hub, and how they are by their leases."""

import base64
from contextlib import asynccontextmanager

import pytest
import yaml

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api import errors
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.requests import Request
from fleetqueue.client import Client
from fleetqueue.client.certificates import content_of, subject_of_request
from fleetqueue.client.kubeconfig import render
from fleetqueue.embedded.ocm.addons.registration import agent_groups, agent_user
from fleetqueue.embedded.ocm.addons.settings import AddOnAgentSettings
from fleetqueue.embedded.ocm.addons.wiring import agent_controllers
from fleetqueue.fleets.client_certificates import ClientAuthority
from fleetqueue.lab.certificates import Authority
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

from .objects import NAME, SIGNER

NAMESPACE = addon.INSTALL_NAMESPACE
KUBECONFIG = render("hub", server="https://hub", ca=b"ca", token="", user="")


class Worker:
    def __init__(self, hub, api):
        self.hub = hub
        self.api = api
        hub.namespace("c1")
        api.namespace(NAMESPACE)
        self.authority = ClientAuthority(Authority.new("hub-ca"))

    @asynccontextmanager
    async def agent(self):
        hub, worker = Cluster("hub", Client(self.hub)), Cluster("c1", Client(self.api))
        controllers = agent_controllers(hub, worker, Metrics(), AddOnAgentSettings("c1", KUBECONFIG))
        async with managed(Manager(hub, controllers)):
            await settle()
            yield

    def install(self, **status):
        self.hub.add(addon.ManagedClusterAddOn.manifest(NAME, "c1", spec={}, status=status))

    def registered(self):
        this = addon.ManagedClusterAddOn.view({"metadata": {"name": NAME, "namespace": "c1"}})
        subject = {"user": agent_user(this), "groups": agent_groups(this)}
        return {"registrations": [{"signerName": SIGNER, "subject": subject}], "namespace": NAMESPACE}

    async def sign(self):
        """Play the hub: approve and sign what was asked for."""
        for request in self.hub.list(CertificateSigningRequest):
            if not request.is_decided:
                certificate = base64.b64encode(await self.authority.sign(request.request, None)).decode()
                said = {"type": "Approved", "status": "True", "reason": "x", "lastUpdateTime": timestamp(clock.now())}
                self._put(request.name, "approval", conditions=[said])
                self._put(request.name, "status", conditions=[said], certificate=certificate)

    def _put(self, name, part, **status):
        raw = {**self.hub.raw(CertificateSigningRequest, name), "status": status}
        path = CertificateSigningRequest.resource.path("", name, part)
        assert self.hub.server.ask(Request("PUT", path, {}, raw)).status == 200

    def secret(self):
        return self.api.get(Secret, f"{NAME}-hub-kubeconfig", NAMESPACE)

    def said(self):
        conditions = self.hub.get(addon.ManagedClusterAddOn, NAME, "c1").status.conditions
        return {each.type: (each.status, each.reason, each.message) for each in conditions}


@pytest.fixture
def worker(api, new_api):
    return Worker(api, new_api())


async def test_the_agent_of_an_add_on_gets_a_kubeconfig_with_its_certificate(worker):
    worker.install(**worker.registered())
    async with worker.agent():
        await advance(1)
        [request] = worker.hub.list(CertificateSigningRequest)
        await worker.sign()
        await advance(1)

    asked = subject_of_request(request.request)
    assert asked.name == "system:open-cluster-management:cluster:c1:addon:hello:agent:hello-agent"
    assert request.metadata.labels == {"open-cluster-management.io/cluster-name": "c1", addon.ADD_ON_LABEL: NAME}
    kubeconfig = yaml.safe_load(worker.secret().text("kubeconfig"))
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://hub"
    assert kubeconfig["users"][0]["user"] == {"client-certificate": "tls.crt", "client-key": "tls.key"}
    assert content_of(base64.b64decode(worker.secret().data["tls.crt"])).subject == asked
    assert worker.hub.get(addon.ManagedClusterAddOn, NAME, "c1").status.kube_client_driver == "csr"
    assert worker.said()["ClusterCertificateRotated"][:2] == ("True", "ClientCertificateUpdated")


async def test_a_good_certificate_is_kept_and_a_quiet_agent_writes_nothing(worker):
    worker.install(healthCheck={"mode": "Customized"}, **worker.registered())
    async with worker.agent():
        await advance(1)
        await worker.sign()
        await advance(1)
    worker.hub.writes.clear()

    async with worker.agent():
        await advance(3600)

    assert worker.hub.writes == []


async def test_an_add_on_that_goes_takes_its_credentials_along(worker):
    worker.install(**worker.registered())
    async with worker.agent():
        await advance(1)
        await worker.sign()
        await advance(1)
        had = worker.secret()
        worker.hub.remove(addon.ManagedClusterAddOn, NAME, "c1")
        await advance(1)

    assert had is not None
    assert worker.secret() is None


async def test_a_secret_that_cannot_be_written_is_written_later(worker):
    worker.api.fail_on("create secrets/*", errors.Unreachable("cut"), times=2)
    worker.install(**worker.registered())
    async with worker.agent():
        await advance(1)
        await worker.sign()
        await advance(30)

    assert worker.secret() is not None


async def test_an_add_on_lives_as_long_as_it_renews_its_lease(worker):
    worker.install()
    async with worker.agent():
        await advance(1)
        unknown = worker.said()["Available"]
        renewed = clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        worker.api.add(Lease.manifest(NAME, NAMESPACE, spec={"renewTime": renewed}))
        await advance(31)
        alive = worker.said()["Available"]
        await advance(330)

    assert unknown == ("Unknown", "ManagedClusterAddOnLeaseNotFound", "The status of hello add-on is unknown.")
    assert alive == ("True", "ManagedClusterAddOnLeaseUpdated", "hello add-on is available.")
    assert worker.said()["Available"] == (
        "False",
        "ManagedClusterAddOnLeaseUpdateStopped",
        "hello add-on is not available.",
    )

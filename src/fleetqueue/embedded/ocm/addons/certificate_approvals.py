"""Approve the certificates that agents of add-ons ask for, where they ask for what they are.

Reads:   CertificateSigningRequest, ManagedCluster, ManagedClusterAddOn, AddOnTemplate
Writes:  the approval of CertificateSigningRequests
Mirrors: addon-framework controllers/certificate/csrapprove.go, pkg/utils/csr_helpers.go

Simplified: certificates of other signers are approved as upstream approves them, but not signed.
"""

from collections.abc import Iterable
from typing import Any

from fleetqueue import clock
from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.certificates_v1 import APPROVED, CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.conditions import timestamp
from fleetqueue.client.certificates import subject_of_request
from fleetqueue.embedded.ocm.addons import sources
from fleetqueue.embedded.ocm.addons.registration import agent_groups, agent_user
from fleetqueue.embedded.ocm.addons.sources import NotReady
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.store import Store

log = Log("add-ons")


class AddOnCertificateApprovalController(Controller):
    name = "add-on-certificate-approval"

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(CertificateSigningRequest, by_key, labels=addon.ADD_ON_LABEL),
            Watch(addon.ManagedClusterAddOn, self._requests_of),
        )

    def subscribe(self) -> None:
        for kind in (addon.AddOnTemplate, ManagedCluster):
            self.hub.informer(kind)
        super().subscribe()

    @property
    def _requests(self) -> Store[CertificateSigningRequest]:
        """Those of add-ons' agents."""
        return self.hub.informer(CertificateSigningRequest, labels=addon.ADD_ON_LABEL).store

    def _requests_of(self, this: addon.ManagedClusterAddOn) -> list[str]:
        """A request may come before we know of the add-on."""
        wanted = {addon.ADD_ON_LABEL: this.name, CLUSTER_NAME_LABEL: this.namespace}
        return [request.key for request in self._requests.all() if wanted.items() <= request.metadata.labels.items()]

    async def reconcile(self, key: str) -> None:
        request = self._requests.get(key)
        if request is None or request.is_decided:
            return
        labels = request.metadata.labels
        name, cluster = labels.get(addon.ADD_ON_LABEL, ""), labels.get(CLUSTER_NAME_LABEL, "")
        this = self.hub.get(addon.ManagedClusterAddOn, name, cluster)
        if this is None or self.hub.get(ManagedCluster, cluster) is None or not self._is_due(request, this):
            return
        approval = {
            "type": APPROVED,
            "status": "True",
            "reason": "AutoApprovedByHubCSRApprovingController",
            "message": "Auto approving addon agent certificate.",
            "lastUpdateTime": timestamp(clock.now()),
        }
        raw = self._requests.raw(key) or {}
        kind = {"apiVersion": request.resource.api_version, "kind": request.resource.kind}
        approved = {**raw, **kind, "status": {**(raw.get("status") or {}), "conditions": [approval]}}
        await self.hub.client.update(request.resource, approved, "approval")
        log.info("certificate approved", add_on=name, cluster=cluster, request=request.name)

    def _is_due(self, request: CertificateSigningRequest, this: addon.ManagedClusterAddOn) -> bool:
        try:
            template = sources.template_of(self.hub, this)
        except NotReady:
            return False
        for registration in template.spec.registration:
            if registration.type == "KubeClient" and request.spec.signer_name == CLIENT_SIGNER:
                return is_for_agent(request, this)
            if (
                registration.custom_signer is not None
                and request.spec.signer_name == registration.custom_signer.signer_name
            ):
                return True
        return False


def is_for_agent(request: CertificateSigningRequest, this: addon.ManagedClusterAddOn) -> bool:
    """Tell whether a request names exactly the agent of an add-on, and comes from its cluster."""
    subject = subject_of_request(request.request)
    if subject is None or set(subject.groups) != set(agent_groups(this)) or subject.name != agent_user(this):
        return False
    return request.spec.username.startswith(f"system:open-cluster-management:{this.namespace}")

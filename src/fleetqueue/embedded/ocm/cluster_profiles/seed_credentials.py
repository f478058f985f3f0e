"""ClusterProfiles as the walkthroughs knew them: with `status.credentials`, which no release of the kind has.

Every profile of a cluster names there the secret with its credential. Kueue reads the profiles of its own namespace
only, and those are filled by whoever writes the secrets. The profiles of other namespaces are for people, who look at
all of them.

Reads:   ClusterProfile, the kubeconfig secrets in Kueue's namespace
Writes:  ClusterProfile status (credentials), but not in Kueue's namespace
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, credentials_secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.cluster_profiles.controllers import is_ocms
from fleetqueue.embedded.ocm.cluster_profiles.profiles import cluster_of
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log

_TEXT: Final = {"type": "string"}
CREDENTIALS: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["accessRef", "consumer"],
        "properties": {
            "consumer": _TEXT,
            "accessRef": {
                "type": "object",
                "required": ["kind", "name", "namespace"],
                "properties": {"kind": _TEXT, "name": _TEXT, "namespace": _TEXT},
            },
        },
    },
}
"""`{consumer, accessRef: {kind, name, namespace}}` for each who may use the cluster."""


def with_credentials(definition: Manifest) -> Manifest:
    """Return the definition of ClusterProfiles with that field in the status; who fills it looks for it there."""
    versions = [_version(version) for version in definition["spec"]["versions"]]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


def _version(version: Manifest) -> Manifest:
    schema = version["schema"]["openAPIV3Schema"]
    status = schema["properties"]["status"]
    fields: dict[str, Any] = {**status["properties"], "credentials": CREDENTIALS}
    properties = {**schema["properties"], "status": {**status, "properties": fields}}
    return {**version, "schema": {"openAPIV3Schema": {**schema, "properties": properties}}}


CONSUMER: Final = "kueue-admin"
BY_SECRET: Final = "secret"
"""An index of ClusterProfiles: the secret that is looked for."""

log = Log("cluster-profiles")


class SeedCredentialsController(Controller):
    """The key is the name of a secret."""

    name = "cluster-profile-credentials"

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(Secret, lambda secret: (secret.name,), namespace=KUEUE_NAMESPACE)
        yield Watch(ClusterProfile, _secret_of)

    def subscribe(self) -> None:
        self.hub.informer(ClusterProfile).store.add_index(BY_SECRET, _secret_of)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        is_there = self.hub.get(Secret, key, KUEUE_NAMESPACE) is not None
        for profile in self.hub.by_index(ClusterProfile, BY_SECRET, key):
            wanted = with_entry(profile.status.credentials, key if is_there else "")
            if wanted != [*profile.status.credentials] and not profile.is_deleting:
                await self._write(profile, wanted)

    async def _write(self, profile: ClusterProfile, credentials: list[Manifest]) -> None:
        patch = {"metadata": profile.precondition, "status": {"credentials": credentials}}
        await self.hub.client.merge(profile.resource, profile.name, profile.namespace, patch, subresource="status")
        log.info("profile says", cluster=cluster_of(profile), namespace=profile.namespace, fields="credentials")


def with_entry(live: Sequence[Manifest], secret: str) -> list[Manifest]:
    """Return the credentials with Kueue's among them, or without where there is no secret; others' stay."""
    reference = {"kind": "Secret", "name": secret, "namespace": KUEUE_NAMESPACE}
    others = [entry for entry in live if entry.get("consumer") != CONSUMER]
    return [*others, {"consumer": CONSUMER, "accessRef": reference}] if secret else others


def _secret_of(profile: ClusterProfile) -> Iterable[str]:
    is_for_people = is_ocms(profile) and profile.namespace != KUEUE_NAMESPACE
    return (credentials_secret(cluster_of(profile)),) if is_for_people else ()

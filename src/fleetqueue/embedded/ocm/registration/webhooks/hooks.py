"""The hooks of registration: which writes they are asked about, and what they say."""

from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.admission_hooks import AdmissionHook, Call, Find, RightsFor, no_rights
from fleetqueue.api.cluster_v1 import GROUP, ManagedCluster, ManagedClusterSetBinding
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.embedded.ocm.registration.webhooks import cluster_rules
from fleetqueue.embedded.ocm.registration.webhooks.cluster_rules import completed

OWNER: Final = "ocm-registration"
"""Under which name the hooks are installed."""


def hooks(settings: RegistrationHubSettings, find: Find) -> list[AdmissionHook]:
    """Return the hooks of a hub; `find` looks at what it holds."""

    def complete(old: Manifest | None, new: Manifest) -> Manifest:
        return completed(old, new, clock.now(), default_set=settings.built_in_sets)

    def check_cluster(old: Manifest | None, new: Manifest) -> Manifest:
        cluster_rules.check_cluster(new)
        cluster_rules.check_acceptance(old, new, find)
        return new

    def check_binding(old: Manifest | None, new: Manifest) -> Manifest:
        cluster_rules.check_binding(new)
        return new

    return [
        _hook("managedclustermutators", ManagedCluster, complete, is_mutating=True),
        _hook("managedclustervalidators", ManagedCluster, check_cluster, rights=cluster_rules.rights_for_cluster),
        _hook(
            "managedclustersetbindingvalidators",
            ManagedClusterSetBinding,
            check_binding,
            rights=cluster_rules.rights_for_binding,
        ),
    ]


def _hook(
    name: str, kind: type[Object], call: Call, *, is_mutating: bool = False, rights: RightsFor = no_rights
) -> AdmissionHook:
    whole, resource = f"{name}.admission.{GROUP}", kind.resource
    return AdmissionHook(
        name=whole,
        group=resource.group,
        version=resource.version,
        resources=(resource.plural,),
        operations=("CREATE", "UPDATE"),
        call=_answering(whole, call),
        is_mutating=is_mutating,
        rights=rights,
    )


def _answering(name: str, call: Call) -> Call:
    """Say who refuses. What is not even shaped as its schema asks is left to the schema."""

    def answer(old: Manifest | None, new: Manifest) -> Manifest:
        try:
            return call(old, new)
        except errors.BadRequest as error:
            text = f'admission webhook "{name}" denied the request: {error.message}'
            raise errors.BadRequest(text, reason="BadRequest") from None
        except (KeyError, TypeError, AttributeError, ValueError):
            return new

    return answer

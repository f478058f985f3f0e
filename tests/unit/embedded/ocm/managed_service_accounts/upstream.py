"""What is done to ManagedServiceAccounts, here and to record upstream's own agent, and what is kept of the end."""

from pathlib import Path

from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE, ManagedServiceAccount

from .conftest import CLUSTER, account_manifest

RECORD = Path(__file__).with_name("upstream.json")
ORDINARY = ("ok", "lost-secret", "spoilt", "other-entries", "lost-account", "bye", "foreign")


def begin(stage):
    """Make accounts of all kinds; `foreign` has the name of an account that somebody else made on the worker."""
    stage.worker.add(ServiceAccount.manifest("foreign", AGENT_NAMESPACE))
    stage.hub.add(*(account_manifest(name) for name in ORDINARY))
    stage.hub.add(ManagedServiceAccount.manifest("seed", CLUSTER, spec={"rotation": {}}))
    stage.hub.add(account_manifest("short", validity="1m"))
    stage.hub.add(account_manifest("ttl", ttlSecondsAfterCreation=2))


def meddle(stage):
    """Do to them what people do."""
    stage.hub.remove(Secret, "lost-secret", CLUSTER)
    stage.hub.change(Secret, "spoilt", CLUSTER, data={"token": "bm9uc2Vuc2U="})
    more = {"data": {"more": "bm9uc2Vuc2U="}, "metadata": {"labels": {"theirs": "x"}}}
    stage.hub.change(Secret, "other-entries", CLUSTER, **more)
    stage.worker.remove(ServiceAccount, "lost-account", AGENT_NAMESPACE)
    for name in ("bye", "foreign"):
        stage.hub.remove(ManagedServiceAccount, name, CLUSTER)
    stage.hub.change(ManagedServiceAccount, "short", CLUSTER, spec={"rotation": {"validity": "20m"}})


def end_state(stage):
    accounts = [each for each in stage.hub.list(ManagedServiceAccount) if each.namespace == CLUSTER]
    owners = {each.uid: f"that of {each.name}" for each in accounts}
    secrets = [
        stage.hub.raw(Secret, each.name, CLUSTER) for each in stage.hub.list(Secret) if each.namespace == CLUSTER
    ]
    lease = stage.worker.raw(Lease, "managed-serviceaccount", AGENT_NAMESPACE)
    twins = [each for each in stage.worker.list(ServiceAccount) if each.namespace == AGENT_NAMESPACE]
    spec = {field: value for field, value in lease["spec"].items() if field != "renewTime"}
    return {
        **{f"ManagedServiceAccount {each.name}": account_state(each) for each in accounts},
        **{f"Secret {each['metadata']['name']}": secret_state(each, owners) for each in secrets},
        **{
            f"ServiceAccount {each.name}": {"labels": each.metadata.labels or None}
            for each in twins
            if each.name != "default"
        },
        "Lease managed-serviceaccount": spec,
    }


def account_state(account):
    status = account.status
    life = (status.expiration_timestamp - status.token_secret_ref.last_refresh_timestamp).total_seconds()
    said = [f"{each.type} {each.status} {each.reason} {each.message}".strip() for each in status.conditions]
    return {"conditions": said, "life": round(life / 10) * 10, "secret": status.token_secret_ref.name}


def secret_state(raw, owners):
    metadata = raw["metadata"]
    return {
        "keys": sorted(raw["data"]),
        "labels": metadata["labels"],
        "type": raw["type"],
        "owners": [{**owner, "uid": owners[owner["uid"]]} for owner in metadata["ownerReferences"]],
    }

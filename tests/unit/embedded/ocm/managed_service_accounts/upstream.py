"""What is done to ManagedServiceAccounts, here and to record upstream's own agent, and what is kept of the end."""

from pathlib import Path

from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE, ManagedServiceAccount

from .conftest import CLUSTER, account_manifest

RECORD = Path(__file__).with_name("upstream.json")
ORDINARY = ("ok", "lost-secret", "spoilt", "other-entries", "lost-account", "bye", "foreign")


def begin(env):
    """Make accounts of all kinds; `foreign` has the name of an account that somebody else made on the worker."""
    env.worker.add(ServiceAccount.manifest("foreign", AGENT_NAMESPACE))
    env.hub.add(*(account_manifest(name) for name in ORDINARY))
    env.hub.add(ManagedServiceAccount.manifest("seed", CLUSTER, spec={"rotation": {}}))
    env.hub.add(account_manifest("short", validity="1m"))
    env.hub.add(account_manifest("ttl", ttlSecondsAfterCreation=2))


def meddle(env):
    """Do to them what people do."""
    env.hub.remove(Secret, "lost-secret", CLUSTER)
    env.hub.change(Secret, "spoilt", CLUSTER, data={"token": "bm9uc2Vuc2U="})
    more = {"data": {"more": "bm9uc2Vuc2U="}, "metadata": {"labels": {"theirs": "x"}}}
    env.hub.change(Secret, "other-entries", CLUSTER, **more)
    env.worker.remove(ServiceAccount, "lost-account", AGENT_NAMESPACE)
    for name in ("bye", "foreign"):
        env.hub.remove(ManagedServiceAccount, name, CLUSTER)
    env.hub.change(ManagedServiceAccount, "short", CLUSTER, spec={"rotation": {"validity": "20m"}})


def end_state(env):
    accounts = [each for each in env.hub.list(ManagedServiceAccount) if each.namespace == CLUSTER]
    owners = {each.uid: f"that of {each.name}" for each in accounts}
    secrets = [env.hub.raw(Secret, each.name, CLUSTER) for each in env.hub.list(Secret) if each.namespace == CLUSTER]
    lease = env.worker.raw(Lease, "managed-serviceaccount", AGENT_NAMESPACE)
    twins = [each for each in env.worker.list(ServiceAccount) if each.namespace == AGENT_NAMESPACE]
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

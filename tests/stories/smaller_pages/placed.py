"""Two clusters that a Placement chose, as Kueue and our controller speak of them and of the ways to them."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.demo.events import Said
from fleetqueue.demo.stage import Stage
from fleetqueue.demo.story2 import PLACEMENT, conditions, is_all_active, listed, members

CHOSEN = ("cluster2", "cluster3")
COMPLAINT = "CredentialsFailed"


async def complains(stage: Stage, expectation: str, name: str, words: str) -> None:
    await stage.expect(
        expectation,
        lambda: any(words in note for note in complaints(stage, name)),
        part=f'an Event says "{words}"',
        why_not=lambda: str(complaints(stage, name)),
    )


async def everything_is_active(stage: Stage, expectation: str, part: str) -> None:
    wanted = members(*CHOSEN)
    await stage.expect(expectation, lambda: is_active(stage), part=part, why_not=lambda: conditions(stage, wanted))


def is_active(stage: Stage) -> bool:
    wanted = members(*CHOSEN)
    has_secrets = all(version(stage, name) for name in CHOSEN)
    return has_secrets and listed(stage) == wanted and is_all_active(stage, wanted)


def is_connected(stage: Stage, member: str) -> bool:
    found = stage.hub.get(kueue.MultiKueueCluster, member)
    return found is not None and found.is_connected


def said_of_check(stage: Stage) -> str:
    found = stage.condition(kueue.AdmissionCheck, PLACEMENT)
    return found.message if found else ""


def complaints(stage: Stage, name: str) -> list[str]:
    found = stage.hub.list(Said)
    return [said.note for said in found if said.reason == COMPLAINT and said.regarding.name == name]


def version(stage: Stage, name: str) -> str:
    """Return which version of a cluster's kubeconfig secret there is; nothing where there is none."""
    found = stage.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE)
    return found.metadata.resource_version if found else ""


def connection(stage: Stage, name: str) -> Connection | None:
    found = stage.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE)
    return parse(found.text(KUBECONFIG_KEY) or "") if found else None


def token_of(stage: Stage, name: str) -> str:
    found = connection(stage, name)
    return found.token if found else ""


def server_of(stage: Stage, name: str) -> str:
    found = connection(stage, name)
    return found.server if found else ""


def account_of(name: str) -> str:
    return f"kueue-admin-{name}"

"""Two clusters that a Placement chose, as Kueue and our controller speak of them and of the ways to them."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, KUEUE_NAMESPACE, credentials_secret
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.demo.story2 import PLACEMENT, conditions, is_all_active, listed, members
from fleetqueue.demo.story_run import StoryEvent, StoryRun

CHOSEN = ("cluster2", "cluster3")
COMPLAINT = "CredentialsFailed"


async def complains(run: StoryRun, expectation: str, name: str, words: str) -> None:
    await run.expect(
        expectation,
        lambda: any(words in note for note in complaints(run, name)),
        part=f'an Event says "{words}"',
        why_not=lambda: str(complaints(run, name)),
    )


async def everything_is_active(run: StoryRun, expectation: str, part: str) -> None:
    wanted = members(*CHOSEN)
    await run.expect(expectation, lambda: is_active(run), part=part, why_not=lambda: conditions(run, wanted))


def is_active(run: StoryRun) -> bool:
    wanted = members(*CHOSEN)
    has_secrets = all(version(run, name) for name in CHOSEN)
    return has_secrets and listed(run) == wanted and is_all_active(run, wanted)


def is_connected(run: StoryRun, member: str) -> bool:
    found = run.hub.get(kueue.MultiKueueCluster, member)
    return found is not None and found.is_connected


def said_of_check(run: StoryRun) -> str:
    found = run.condition(kueue.AdmissionCheck, PLACEMENT)
    return found.message if found else ""


def complaints(run: StoryRun, name: str) -> list[str]:
    found = run.hub.list(StoryEvent)
    return [said.note for said in found if said.reason == COMPLAINT and said.regarding.name == name]


def version(run: StoryRun, name: str) -> str:
    """Return which version of a cluster's kubeconfig secret there is; nothing where there is none."""
    found = run.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE)
    return found.metadata.resource_version if found else ""


def connection(run: StoryRun, name: str) -> Connection | None:
    found = run.hub.get(Secret, credentials_secret(name), KUEUE_NAMESPACE)
    return parse(found.text(KUBECONFIG_KEY) or "") if found else None


def token_of(run: StoryRun, name: str) -> str:
    found = connection(run, name)
    return found.token if found else ""


def server_of(run: StoryRun, name: str) -> str:
    found = connection(run, name)
    return found.server if found else ""


def account_of(name: str) -> str:
    return f"kueue-admin-{name}"

"""The topology set-up of Kueue's page on MultiKueue, typed as our page prints it, on a real hub and two real workers.

No kubelet runs there: kwok plays the nodes that are applied.
"""

import json
from collections import Counter

import pytest

from fleetqueue.real.layout import CHOICE
from tests.system.pages.shell import Shell, lines_of

pytestmark = [pytest.mark.real, pytest.mark.timeout(420)]
PAGE = lines_of("docs/en/guides/by-hand.md", (4, 5, 6))
UP = (
    "fleetqueue up --engine kubernetes --ocm placement --workers 2 --detach",
    "export KUBECONFIG=$(fleetqueue kubeconfig --path)",
)
"""How the fleet starts, instead of the embedded one of the page."""
JOBS = {"tas-sample-job": 2, "implicit-tas-job": 3}
"""The jobs of the page, and how many pods they have."""
NODES = {"tas-node-1", "tas-node-2"}
PLACED = "kubectl get workloads -o jsonpath="


@pytest.fixture(scope="module")
def typed(layout, tmp_path_factory):
    """A shell in which the page was typed, and what each line printed."""
    shell, printed = Shell(tmp_path_factory.mktemp("topology")), {}
    shell.environ[CHOICE] = str(layout.root)
    try:
        for line in (*UP, *PAGE):
            printed[line] = shell.type(line)
        yield shell, printed
    finally:
        shell.close()


def nodes_of_pods(shell):
    """Return the nodes that pods were scheduled to on the workers, by the names of their jobs, and how many of them."""
    found = {job: Counter() for job in JOBS}
    for worker in ("worker1", "worker2"):
        events = shell.type(f"kubectl --context {worker}-cluster get events --field-selector reason=Scheduled -o json")
        for event in json.loads(events)["items"]:
            job = event["involvedObject"]["name"].rpartition("-")[0]
            found[job][event["message"].rpartition(" to ")[2]] += 1
    return found


def test_the_hub_learns_that_its_workers_have_placed_both_jobs(typed):
    _, printed = typed

    (said,) = [said for line, said in printed.items() if line.startswith(PLACED)]

    assert sorted(line.split()[1] for line in said.splitlines()) == ["Ready", "Ready"]


def test_both_jobs_run_on_their_nodes_to_their_end(typed):
    shell, _ = typed

    shell.type("kubectl wait --for=condition=Complete --timeout=120s jobs --all")

    nodes = nodes_of_pods(shell)
    assert {job: found.total() for job, found in nodes.items()} == JOBS
    assert all(set(found) <= NODES for found in nodes.values())
    assert len(nodes["tas-sample-job"]) == 1

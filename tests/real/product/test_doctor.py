"""`fleetqueue doctor` on a real hub with real workers: silent where nothing is wrong, and faults by their names.

Commands are typed as they are printed, by a shell.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from fleetqueue.fleets.lab import Lab, LabSettings
from fleetqueue.manifests import example
from fleetqueue.real import layout

from .real_faults import GROUPS, LONG, Patient, do
from .shells import HEALTHY, Shell

pytestmark = pytest.mark.timeout(600)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def patient(engine: layout.Layout, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Patient]:
    settings = LabSettings(workers=2, scenario="multikueue", ocm="placement")
    async with Lab(tmp_path_factory.mktemp("doctor") / "fleet", settings) as lab:
        shell = Shell(lab.kubeconfig, engine)
        await shell.run(
            "kubectl label managedclusters cluster1 cluster2 accelerator=nvidia-tesla-t4",
            "fleetqueue clusterset bind spoke --namespace kueue-system",
            f"kubectl apply -f {example('placement-demo2-1.yaml')} -f {example('multikueue-setup-demo2.yaml')}",
        )
        yield Patient(shell, lab)


async def test_nothing_is_found_on_a_healthy_fleet(patient):
    document = await patient.shell.until(lambda document: document["healthy"])

    assert document["clusters"] == ["hub", "cluster1", "cluster2"]
    assert document["notLookedAt"] == []
    assert (await patient.shell.doctor())[0] == HEALTHY


def places(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the codes that were found, and where."""
    return {(finding["code"], place(finding)) for finding in document["findings"]}


def place(finding: dict[str, Any]) -> str:
    thing = finding["object"]
    name = "/".join(part for part in (thing["namespace"], thing["name"]) if part)
    return f"{finding['cluster']}: {thing['kind']} {name}".strip()


@pytest.mark.parametrize(
    "group",
    [pytest.param(one, id=one.name, marks=[pytest.mark.long] if one in LONG else []) for one in GROUPS],
)
async def test_planted_faults_are_found_and_gone_when_the_printed_lines_were_typed(patient, group):
    await do(patient, *group.plant)
    document = await patient.shell.until(lambda document: places(document) >= set(group.found.items()))
    planted = [finding for finding in document["findings"] if finding["code"] in group.found]

    await do(patient, *(step["command"] for finding in planted for step in finding["steps"] if step["command"]))
    for code in {finding["code"] for finding in planted if any(step["text"] for step in finding["steps"])}:
        await do(patient, *group.by_hand[code])
    await do(patient, *group.afterwards)

    await patient.shell.until(lambda document: document["healthy"])

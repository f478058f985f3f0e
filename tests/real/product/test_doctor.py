"""`fleetqueue doctor` on a real hub with real workers: silent where nothing is wrong, and five planted faults.

Commands are typed as they are printed, by a shell.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from fleetqueue.demo import real_fleet
from fleetqueue.fleets.lab import LabSettings
from fleetqueue.manifests import example
from fleetqueue.real import layout

pytestmark = pytest.mark.timeout(600)
HEALTHY, ERRORS, WARNINGS = 0, 4, 5
LOOKS = 60
"""How often it is looked again whether something shows, or is gone, at most."""


@dataclass(frozen=True)
class Shell:
    """A shell whose kubectl and fleetqueue know the fleet."""

    kubeconfig: Path
    engine: layout.Layout

    async def type(self, line: str) -> tuple[int, str]:
        """Run a line; return its exit code and what it printed."""
        programs = [self.engine.binary("kubectl").parent, Path(sys.executable).parent]
        path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", line),
            env={**os.environ, "PATH": path, "KUBECONFIG": str(self.kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return process.returncode or 0, out.decode() or err.decode()

    async def run(self, *lines: str) -> None:
        for line in lines:
            code, text = await self.type(line)
            assert code == 0, f"{line}: {text}"

    async def doctor(self) -> tuple[int, dict[str, Any]]:
        code, text = await self.type("fleetqueue doctor -o json")
        assert code in (HEALTHY, ERRORS, WARNINGS), text
        return code, json.loads(text)

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Look until the diagnosis is as it should be: Kueue and the agents need their time."""
        for _ in range(LOOKS):
            _, document = await self.doctor()
            if holds(document):
                return document
        raise AssertionError(json.dumps(document, indent=2))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shell(engine: layout.Layout, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Shell]:
    settings = LabSettings(workers=2, scenario="multikueue", ocm="placement")
    async with real_fleet.opened(tmp_path_factory.mktemp("doctor") / "fleet", settings, lambda line: None) as fleet:
        typed = Shell(fleet.kubeconfig, engine)
        await typed.run(
            "kubectl label managedclusters cluster1 cluster2 accelerator=nvidia-tesla-t4",
            "fleetqueue clusterset bind spoke --namespace kueue-system",
            f"kubectl apply -f {example('placement-demo2-1.yaml')} -f {example('multikueue-setup-demo2.yaml')}",
        )
        yield typed


async def test_nothing_is_found_on_a_healthy_fleet(shell):
    document = await shell.until(lambda document: document["healthy"])

    assert document["clusters"] == ["hub", "cluster1", "cluster2"]
    assert document["notLookedAt"] == []
    assert (await shell.doctor())[0] == HEALTHY


def applied(manifest: dict[str, Any], context: str = "hub") -> str:
    return f"kubectl --context {context} apply -f - <<'EOF'\n{json.dumps(manifest)}\nEOF"


EXTRA = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "LocalQueue",
    "metadata": {"name": "extra", "namespace": "default"},
    "spec": {"clusterQueue": "cluster-queue-demo2"},
}
QUOTA = [{"name": "default-flavor-demo2", "resources": [{"name": "cpu", "nominalQuota": 1}]}]
ALONE = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {"name": "alone"},
    "spec": {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": QUOTA}],
        "admissionChecksStrategy": {"admissionChecks": [{"name": "placement-demo2"}]},
    },
}
MEMBER = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "MultiKueueCluster",
    "metadata": {"name": "weak"},
    "spec": {"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "weak"}}},
}
CONFIG = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "MultiKueueConfig",
    "metadata": {"name": "weak"},
    "spec": {"clusters": ["weak"]},
}
WEAK = (
    "kubectl --context cluster1 create serviceaccount weak -n default",
    "set -o pipefail; file=$(mktemp) && kubectl --context cluster1 config view --minify --flatten > $file"
    " && kubectl --kubeconfig $file config set-credentials weak"
    " --token=$(kubectl --context cluster1 create token weak -n default --duration=24h)"
    " && kubectl --kubeconfig $file config set-context --current --user=weak"
    " && kubectl --kubeconfig $file config delete-user cluster1-admin"
    " && kubectl create secret generic weak -n kueue-system --from-file=kubeconfig=$file; rm $file",
    applied(MEMBER),
    applied(CONFIG),
)
FAULTS = [
    pytest.param(
        "SetNotBound", "hub", ["kubectl delete managedclustersetbinding spoke -n kueue-system"], id="SetNotBound"
    ),
    pytest.param("LocalQueueMissing", "cluster2", [applied(EXTRA)], id="LocalQueueMissing"),
    pytest.param(
        "QueueStopped",
        "cluster1",
        [
            "kubectl --context cluster1 patch clusterqueue cluster-queue-demo2 --type=merge"
            """ -p '{"spec":{"stopPolicy":"Hold"}}'"""
        ],
        id="QueueStopped",
    ),
    pytest.param("PlacementCheckAlone", "hub", [applied(ALONE)], id="PlacementCheckAlone"),
    pytest.param("RightMissing", "cluster1", WEAK, id="RightMissing"),
]


@pytest.mark.parametrize(("code", "cluster", "plant"), FAULTS)
async def test_a_planted_fault_is_found_and_gone_when_the_printed_lines_were_typed(shell, code, cluster, plant):
    await shell.run(*plant)

    def found(document: dict[str, Any]) -> list[dict[str, Any]]:
        return [finding for finding in document["findings"] if finding["code"] == code]

    document = await shell.until(lambda document: cluster in {finding["cluster"] for finding in found(document)})
    await shell.run(*(step["command"] for finding in found(document) for step in finding["steps"]))
    await shell.until(lambda document: document["healthy"])

"""docs/en/start/install.md is typed line by line, as a person would, on a hub that has OCM and Kueue and not us.

The clusters are embedded; Helm and kubectl are the real ones, and the pods that the chart's Deployments make run our
parts with the accounts and the settings that the chart gives them. The only stand-in is `docker`: nobody builds or
pulls an image here.
"""

import asyncio
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fleetqueue import __version__
from fleetqueue.admin.waiting import Observed
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.embedded.ocm.registration.accepting import accept
from fleetqueue.fleets.embedded_environment import WORKER_KINDS, add_gpus, bootstrap_kubeconfig, install_kueue
from fleetqueue.fleets.embedded_lab import EmbeddedLab
from fleetqueue.fleets.embedded_settings import EmbeddedSettings
from fleetqueue.fleets.systems import kueue, ocm
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.concurrent_steps import together
from tests.deploy import built_tools

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "en" / "start" / "install.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLAIN = "Without Helm"
AFTERWARDS = ("scores.md", "lost-workers.md", "operating.md")
"""Guides that upgrade the release, and at last take it away."""
SECONDS = 90
"""No line may take longer on a busy machine."""

pytestmark = pytest.mark.timeout(300)


class Line(NamedTuple):
    """What is typed, and under which heading it stands."""

    heading: str
    text: str


def lines() -> list[Line]:
    """Return every line of the page that is typed, in order."""
    found = []
    for section in re.split(r"^#+ ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        found += [Line(heading, line) for block in BLOCK.findall(section) for line in block.splitlines()]
    return found


def with_helm() -> list[Line]:
    return [line for line in lines() if line.heading != PLAIN]


def without_helm() -> list[Line]:
    """Return what somebody without Helm types: the plain manifests in place of the chart, up to a worker that is in."""
    chart = next(line.heading for line in lines() if line.text.startswith("helm install"))
    typed = [line for line in lines() if line.heading != chart]
    return typed[: 1 + next(number for number, line in enumerate(typed) if line.text.startswith("fleetqueue join"))]


def afterwards() -> list[str]:
    """Return what other pages do to the release of this one: their blocks in which Helm is called."""
    texts = [(ROOT / "docs" / "en" / "guides" / name).read_text() for name in AFTERWARDS]
    blocks = [block for text in texts for block in BLOCK.findall(text) if re.search(r"^helm ", block, re.MULTILINE)]
    return [line for block in blocks for line in block.splitlines()]


class Hub(EmbeddedLab):
    """A fleet as a platform team has it: OCM with joined clusters, Kueue everywhere, and nothing of ours."""

    async def _set_up(self) -> None:
        hub, *workers = self.endpoints.values()
        client = hub.client()
        await install_kinds(client, "kueue", "jobset", "ocm-hub", "cluster-inventory")
        await create_all(client, ocm.bootstrap_rights())
        await install(client, *ocm.HUB_PARTS)
        await install_kueue(client, kueue.CONFIG)
        await together(*(self._join(hub, worker) for worker in workers))

    async def _join(self, hub, worker) -> None:
        own, client = worker.client(), hub.client()
        await install_kinds(own, *WORKER_KINDS)
        await install_kueue(own, kueue.CONFIG)
        await add_gpus(own, worker.name)
        await create_all(own, ocm.klusterlet(worker.name, worker.url, await bootstrap_kubeconfig(hub)))
        async with Observed({HUB: client}) as seen:
            seen.follow(HUB, ManagedCluster)
            introduced = lambda: seen[HUB].get(ManagedCluster, worker.name)  # noqa: E731
            await seen.until(introduced, limit=SECONDS, what=f"the agent of {worker.name} has not introduced it")
        await accept(client, worker.name)


class Terminal:
    """A shell in a checkout, with the hub as its current context."""

    def __init__(self, folder: Path, lab: Hub) -> None:
        self.folder = folder / "checkout"
        self.lab = lab
        programs = folder / "bin"
        programs.mkdir()
        self.folder.mkdir()
        for name in ("deploy", "examples"):
            (self.folder / name).symlink_to(ROOT / name)
        (programs / "kubectl").symlink_to(built_tools.kubectl())
        (programs / "helm").symlink_to(built_tools.helm())
        (programs / "fleetqueue").symlink_to(Path(sys.executable).with_name("fleetqueue"))
        docker = programs / "docker"
        docker.write_text(f'#!/bin/sh\necho "$@" >> {folder}/docker.log\n')
        docker.chmod(docker.stat().st_mode | stat.S_IXUSR)
        self.asked_of_docker = folder / "docker.log"
        for name in lab.settings.clusters[1:]:
            shutil.copyfile(lab.data_dir / name / "kubeconfig", self.folder / f"{name}-admin.kubeconfig")
        self.environ = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "KUBECONFIG": str(lab.data_dir / "kubeconfig"),
            "HELM_CACHE_HOME": str(folder / "helm"),
            "HELM_CONFIG_HOME": str(folder / "helm"),
            "HELM_DATA_HOME": str(folder / "helm"),
        }

    async def type(self, line: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *("bash", "-o", "pipefail", "-c", line),
            cwd=self.folder,
            env=self.environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            said, _ = await asyncio.wait_for(process.communicate(), SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, f"$ {line}\n{said.decode()}"
        return said.decode()

    async def shows(self, wanted: str, line: str) -> None:
        """Type a line again and again until it prints something."""
        said = ""
        for _ in range(SECONDS * 2):
            said = await self.type(line)
            if wanted in said:
                return
            await asyncio.sleep(0.5)
        raise AssertionError(f"$ {line}\n{said}\nhas no {wanted}")


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    built_tools.kubectl(), built_tools.helm()
    lab = Hub(tmp_path / "fleet", EmbeddedSettings(workers=3, in_memory=True))
    await lab.start()
    try:
        yield Terminal(tmp_path, lab)
    finally:
        await lab.stop()


def test_every_line_is_typed_in_one_way_or_the_other():
    assert set(lines()) == {*with_helm(), *without_helm()}
    assert len(lines()) > 25


async def test_the_page_leads_from_an_empty_hub_to_a_job_that_runs(terminal):
    said = {line.text: await terminal.type(line.text) for line in with_helm()}

    (notes,) = [text for line, text in said.items() if line.startswith("helm install")]
    assert "fleetqueue install --dispatcher\n" in notes, "what is next"
    assert "NOTE:" not in notes, "the names that the commands expect"
    config = await terminal.type("kubectl get multikueueconfig placement-demo2 -o jsonpath='{.spec.clusters}'")
    assert json.loads(config) == ["placement-demo2-cluster2", "placement-demo2-cluster3"]
    await terminal.shows(
        "MultiKueueConfig and MultiKueueCluster generated", "kubectl describe admissioncheck placement-demo2"
    )
    await terminal.shows("Can admit new workloads", "kubectl describe clusterqueue cluster-queue-demo2")
    await terminal.shows("Nominated", "kubectl describe workloads")
    await terminal.shows(
        "True", "kubectl get workloads -o jsonpath='{.items[*].status.conditions[?(@.type==\"Admitted\")].status}'"
    )
    await terminal.shows("resource-usage-score", "kubectl get addonplacementscores -n cluster1")
    image = (
        "kubectl --context cluster1 get deployments -A -o jsonpath='{.items[*].spec.template.spec.containers[*].image}'"
    )
    await terminal.shows(f"registry.example.com/fleetqueue:{__version__}", image)
    assert [line.split()[0] for line in terminal.asked_of_docker.read_text().splitlines()] == ["build", "push"]
    await terminal.type("kubectl delete jobs --all")
    for line in afterwards():
        await terminal.type(line)
    assert "fleetqueue-controller" not in await terminal.type("kubectl get deployments -A")


async def test_without_helm_the_plain_manifests_do_the_same(terminal):
    for line in without_helm():
        await terminal.type(line.text)

    assert "cluster1" in await terminal.type("fleetqueue get clusters")

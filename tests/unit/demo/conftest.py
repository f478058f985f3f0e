"""Stories on clusters in memory."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.client import Client
from fleetqueue.demo.commands import InProcess
from fleetqueue.demo.story_run import StoryFleet, StoryRun
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import condition, ended_job, pod_template
from fleetqueue.testing.silent_printer import SilentPrinter


class Listening(SilentPrinter):
    """Remembers the reasons and the commands that were told."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.commands: list[str] = []

    async def command(self, text: str) -> None:
        self.commands.append(text)

    def reason(self, text: str) -> None:
        self.reasons.append(text)


@dataclass
class ArrangedStory:
    """A StoryRun, and its clusters."""

    run: StoryRun
    apis: dict[str, ArrangedApi]
    printer: Listening = field(default_factory=Listening)

    @property
    def hub(self) -> ArrangedApi:
        return self.apis[HUB]


@pytest.fixture
async def story(api: ArrangedApi, new_api: Callable[[], ArrangedApi]) -> AsyncIterator[ArrangedStory]:
    """A hub and three workers in memory, with nothing on them."""
    apis = {HUB: api, **{name: new_api() for name in ("cluster1", "cluster2", "cluster3")}}
    printer = Listening()
    fleet = StoryFleet(Path("none"), dial=lambda name: Client(apis[name]), commands=InProcess)
    run = StoryRun(fleet, printer)
    async with run:
        yield ArrangedStory(run, apis, printer)


def job(name: str = "demo2-jobx", *, suspend: bool = True, complete: bool = False, **metadata: Any) -> dict[str, Any]:
    spec = {"suspend": suspend, "template": pod_template()}
    manifest = Job.manifest(name, "default", spec=spec, status=ended_job() if complete else {})
    manifest["metadata"] |= metadata
    return manifest


def workload(name: str, *, owner: Job | None = None, true: tuple[str, ...] = (), **status: Any) -> dict[str, Any]:
    conditions = [condition(kind) for kind in true]
    manifest = kueue.Workload.manifest(name, "default", status={"conditions": conditions, **status})
    if owner is not None:
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner.name, "uid": owner.uid}
        manifest["metadata"]["ownerReferences"] = [reference]
    return manifest

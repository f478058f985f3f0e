"""The YAML form of these scenarios: a file for each configuration of Kueue.

configuration: {waitForPodsReady: {timeout: 6s}}   # sections of the configuration
is_alone: true                                     # whether its scenarios would change each other: one at a time
scenarios: [...]                                   # in the form of `kueue_jobs`, or where there are `queues`,
                                                   # in that of `kueue_queues`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from fleetqueue.api.scheme import Manifest

from ..world import Described  # noqa: TID252 - what the rooms share stands above them


@dataclass(frozen=True)
class Configured:
    """Scenarios that share a configuration."""

    name: str
    configuration: Manifest
    is_alone: bool
    scenarios: Sequence[Described]

    def chosen(self, some: Sequence[Described]) -> list[Described]:
        """Return those of some scenarios that are its own."""
        names = {each["name"] for each in some}
        return [each for each in self.scenarios if each["name"] in names]


def read(folder: Path) -> list[Configured]:
    return [_read(path) for path in sorted(folder.glob("*.yaml"))]


def described(groups: Sequence[Configured]) -> list[Described]:
    """Return all scenarios, each with its configuration: what is recorded depends on it."""
    return [{**each, "configuration": group.configuration} for group in groups for each in group.scenarios]


def _read(path: Path) -> Configured:
    said = yaml.load(path.read_text(), yaml.CSafeLoader)
    return Configured(path.stem, said["configuration"], said.get("is_alone", False), said["scenarios"])

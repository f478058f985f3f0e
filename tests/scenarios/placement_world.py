"""Placement scenarios on both hubs, and what the real one made of them."""

from pathlib import Path
from typing import Any

import orjson

from fleetqueue.assembly.placement_expressions import compile_expression
from fleetqueue.controllers.placement.room import controllers
from fleetqueue.controllers.placement.settings import PlacementSettings
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics

from .hubs import EmbeddedHub, RealHub
from .placement_form import HERE, scenarios, written
from .placement_generated import generated
from .running import run

RECORD = HERE / "recorded.json"
DESCRIBED = [*written(), *generated()]


async def run_on_ours() -> dict[str, Any]:
    """To be run in virtual time."""
    async with EmbeddedHub.open(["ocm-hub"], _controllers) as hub:
        return await run(hub, scenarios(DESCRIBED))


async def run_on_real(folder: Path) -> dict[str, Any]:
    async with RealHub.open(folder) as hub:
        return await run(hub, scenarios(DESCRIBED))


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(RECORD.read_bytes())
    return found


def record(ends: dict[str, Any]) -> None:
    """Write what the real controller made of each scenario, a line for each."""
    lines = (f"{_json(name)}: {_json(ends[name])}" for name in sorted(ends))
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _controllers(hub: Cluster, metrics: Metrics) -> list[Controller]:
    return [*controllers(hub, metrics, PlacementSettings(), compile_expression=compile_expression)]

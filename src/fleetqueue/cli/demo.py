"""`fleetqueue demo`: the three stories, told and judged."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.fleets import Engine, Ocm, how_to_go_on, room
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.running import Code, Failure, run, wants_traceback
from fleetqueue.cli.summary import summary

if TYPE_CHECKING:
    from fleetqueue.cli.narrator import Terminal
    from fleetqueue.demo.expectations import Record
    from fleetqueue.demo.story_order import Which
    from fleetqueue.demo.story_run import StoryFleet

TOLD = "the stories are told"


def demo(
    which: Annotated[str, typer.Argument(help="1, 2, 3 or all.")] = "all",
    step: Annotated[bool, typer.Option("--step", help="Show each command, and wait for Enter before it runs.")] = False,
    fast: Annotated[
        bool | None,
        typer.Option(
            "--fast/--no-fast",
            help="Let the job of story 1 end after 3 s instead of 30 s.",
            show_default="fast on embedded clusters",
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="What the clusters are made of.")] = Engine.EMBEDDED,
    ocm: Annotated[
        Ocm, typer.Option(help="With --engine kubernetes: Open Cluster Management with its agents, or without.")
    ] = Ocm.FULL,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the fleet running afterwards.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Tell the three user stories on a hub and three workers, and check every expectation.

    Exit code 0 means that every expectation held. Nothing stays behind unless --keep is given.

    \b
    Example:
      fleetqueue demo
      fleetqueue demo 2 --step --keep
      fleetqueue demo --engine kubernetes
    """
    from fleetqueue.cli.narrator import Terminal
    from fleetqueue.demo.story_order import Which, expected
    from fleetqueue.lab.state import default_data_dir

    try:
        wanted = Which(which)
    except ValueError:
        raise Failure(f'there is no story "{which}"; there are 1, 2, 3 and all', Code.USAGE) from None
    where = room((data_dir or default_data_dir("demo")).absolute())
    narrator, is_embedded = Terminal(step=step), engine is Engine.EMBEDDED
    house = embedded_house(where, keep=keep) if is_embedded else real_house(where, ocm, keep=keep)
    record = run(perform(wanted, house, narrator, fast=is_embedded if fast is None else fast))
    narrator.title("Summary")
    for line in summary(record, expected(wanted, has_agents=is_embedded or ocm is Ocm.FULL, has_pods=is_embedded)):
        narrator.say(line)
    if keep:
        print(how_to_go_on(where, is_detached=True))
    if not record.all_held:
        raise Failure("not every expectation held; see the summary above")


@asynccontextmanager
async def embedded_house(where: Path, *, keep: bool) -> AsyncIterator["StoryFleet"]:
    """Start an embedded fleet: in this process and in memory, or in the background with a data folder."""
    from fleetqueue.demo import embedded_fleet
    from fleetqueue.runtime import logs

    # All parts run in this process; what they have to say of their beginnings would disturb the story.
    logs.set_up(json=False, level="WARNING" if wants_traceback() else "ERROR")
    house = embedded_fleet.kept if keep else embedded_fleet.opened
    with Progress() as report:
        report("starting a hub and three workers in this process" if not keep else "starting a hub and three workers")
        async with house(where, report) as place:
            report.rest()
            yield place
            report(TOLD if keep else f"{TOLD}; ending the fleet")


@asynccontextmanager
async def real_house(where: Path, ocm: Ocm, *, keep: bool) -> AsyncIterator["StoryFleet"]:
    """Start a fleet of real clusters."""
    from fleetqueue.demo import real_fleet
    from fleetqueue.fleets.lab import LabSettings

    house = real_fleet.kept if keep else real_fleet.opened
    with Progress() as report:
        report("starting a hub and three workers; this takes half a minute on two cores")
        async with house(where, LabSettings(ocm=ocm.value), report) as place:
            report.rest()
            yield place
            report(TOLD if keep else f"{TOLD}; ending the fleet")


async def perform(
    which: "Which", house: AbstractAsyncContextManager["StoryFleet"], narrator: "Terminal", *, fast: bool
) -> "Record":
    """Tell the stories in a house that is open meanwhile; return what held."""
    from fleetqueue.demo.expectations import ExpectationFailed
    from fleetqueue.demo.story_order import tell
    from fleetqueue.demo.story_run import StoryRun

    async with house as place, StoryRun(place, narrator, is_fast=fast) as stage:
        try:
            await tell(stage, which)
        except ExpectationFailed:
            pass  # it is in the record, and has been shown
    return stage.record

"""`fleetqueue demo`: the three stories, told and judged."""

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure, run, wants_traceback
from fleetqueue.cli.fleets import Engine, Ocm, how_to_go_on, usable_folder
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.progress import Progress
from fleetqueue.cli.summary import summary

if TYPE_CHECKING:
    from fleetqueue.cli.story_terminal import Terminal
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
    from fleetqueue.cli.story_terminal import Terminal, may_be_pressed
    from fleetqueue.demo.story_order import Which, expected
    from fleetqueue.lab.state import default_data_dir

    try:
        wanted = Which(which)
    except ValueError:
        raise CommandFailure(f'there is no story "{which}"; there are 1, 2, 3 and all', Code.USAGE) from None
    if step and not may_be_pressed(sys.stdin):
        raise CommandFailure(
            "--step waits for Enter, and standard input is neither a terminal nor a pipe; leave --step out", Code.USAGE
        )
    where = usable_folder((data_dir or default_data_dir("demo")).absolute())
    printer, is_embedded = Terminal(step=step), engine is Engine.EMBEDDED
    fleet = embedded(where, keep=keep) if is_embedded else real(where, ocm, keep=keep)
    record = run(tell_on(fleet, wanted, printer, fast=is_embedded if fast is None else fast))
    printer.title("Summary")
    for line in summary(record, expected(wanted, has_agents=is_embedded or ocm is Ocm.FULL, has_pods=is_embedded)):
        printer.say(line)
    if keep:
        print(how_to_go_on(where, is_detached=True))
    if not record.all_held:
        raise CommandFailure("not every expectation held; see the summary above")


@asynccontextmanager
async def embedded(where: Path, *, keep: bool) -> AsyncIterator["StoryFleet"]:
    """Start an embedded fleet: in this process and in memory, or in the background with a data folder."""
    from fleetqueue.demo import embedded_fleet
    from fleetqueue.runtime import logs

    # All parts run in this process; what they have to say of their beginnings would disturb the story.
    logs.set_up(json=False, level="WARNING" if wants_traceback() else "ERROR")
    started = embedded_fleet.kept if keep else embedded_fleet.opened
    with Progress() as report:
        report("starting a hub and three workers in this process" if not keep else "starting a hub and three workers")
        async with started(where, report) as fleet:
            report.rest()
            yield fleet
            report(TOLD if keep else f"{TOLD}; ending the fleet")


@asynccontextmanager
async def real(where: Path, ocm: Ocm, *, keep: bool) -> AsyncIterator["StoryFleet"]:
    """Start a fleet of real clusters."""
    from fleetqueue.demo import real_fleet
    from fleetqueue.fleets.lab import LabSettings

    started = real_fleet.kept if keep else real_fleet.opened
    with Progress() as report:
        report("starting a hub and three workers; this takes half a minute on two cores")
        async with started(where, LabSettings(ocm=ocm.value), report) as fleet:
            report.rest()
            yield fleet
            report(TOLD if keep else f"{TOLD}; ending the fleet")


async def tell_on(
    started: AbstractAsyncContextManager["StoryFleet"], which: "Which", printer: "Terminal", *, fast: bool
) -> "Record":
    """Start a fleet, tell the stories on it and end it; return what held."""
    from fleetqueue.demo.expectations import ExpectationFailed
    from fleetqueue.demo.story_order import tell
    from fleetqueue.demo.story_run import StoryRun

    async with started as fleet, StoryRun(fleet, printer, is_fast=fast) as story:
        try:
            await tell(story, which)
        except ExpectationFailed:
            pass  # it is in the record, and has been shown
    return story.record

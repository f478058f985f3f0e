"""`fleetqueue demo`: the three stories, told and judged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.fleets import Engine, Ocm, how_to_go_on, reporter
from fleetqueue.cli.options import DataDir
from fleetqueue.cli.running import Code, Failure, run
from fleetqueue.cli.summary import summary

if TYPE_CHECKING:
    from fleetqueue.assembly.stories.expectations import Record
    from fleetqueue.assembly.stories.telling import Which
    from fleetqueue.cli.narrator import Terminal


def demo(
    which: Annotated[str, typer.Argument(help="1, 2, 3 or all.")] = "all",
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter before each command.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Let the job of story 1 end after 3 s instead of 30 s.")] = False,
    engine: Annotated[Engine, typer.Option(help="What the clusters are made of.")] = Engine.KUBERNETES,
    ocm: Annotated[Ocm, typer.Option(help="Open Cluster Management with its agents, or without.")] = Ocm.FULL,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the fleet running afterwards.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Tell the three user stories on a fleet of real clusters, and check every expectation.

    Exit code 0 means that every expectation held. Nothing stays behind unless --keep is given.

    \b
    Example:
      fleetqueue demo
      fleetqueue demo 2 --step --keep
    """
    from fleetqueue.assembly.stories.telling import Which, expected
    from fleetqueue.cli.narrator import Terminal
    from fleetqueue.engine.state import default_data_dir

    if engine is Engine.EMBEDDED:
        why = "the stories need Kueue and OCM, which embedded clusters do not run yet: use --engine kubernetes"
        raise Failure(why, Code.USAGE)
    try:
        wanted = Which(which)
    except ValueError:
        raise Failure(f'there is no story "{which}"; there are 1, 2, 3 and all', Code.USAGE) from None
    where = (data_dir or default_data_dir("demo")).absolute()
    narrator = Terminal(step=step)
    record = run(perform(wanted, where, narrator, ocm=ocm, fast=fast, keep=keep))
    narrator.title("Summary")
    for line in summary(record, expected(wanted, has_agents=ocm is Ocm.FULL)):
        narrator.say(line)
    if keep:
        print(how_to_go_on(where, is_detached=True))
    if not record.all_held:
        raise Failure("not every expectation held; see the summary above")


async def perform(which: "Which", where: Path, narrator: "Terminal", *, ocm: Ocm, fast: bool, keep: bool) -> "Record":
    """Start a fleet, tell the stories on it, end it; return what held."""
    from fleetqueue.assembly.lab import LabSettings
    from fleetqueue.assembly.stories import theatre
    from fleetqueue.assembly.stories.expectations import ExpectationFailed
    from fleetqueue.assembly.stories.stage import Stage
    from fleetqueue.assembly.stories.telling import tell

    report = reporter()
    house = theatre.kept if keep else theatre.opened
    report("starting a hub and three workers; this takes half a minute on two cores")
    async with house(where, LabSettings(ocm=ocm.value), report) as place:
        async with Stage(place, narrator, is_fast=fast) as stage:
            try:
                await tell(stage, which)
            except ExpectationFailed:
                pass  # it is in the record, and has been shown
        report("the stories are told" + ("" if keep else "; ending the fleet"))
    return stage.record

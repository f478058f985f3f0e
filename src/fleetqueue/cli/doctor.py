"""`fleetqueue doctor`: what is wrong with a hub and its workers, what follows from it, and what mends it."""

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fleetqueue.cli.exit_codes import Code, run
from fleetqueue.cli.options import (
    Context,
    Kubeconfig,
    KueueConfigMapName,
    KueueNamespace,
    Output,
    OutputFormat,
    opened_hub,
)
from fleetqueue.cli.progress import PATIENCE, Progress, wants_colours

if TYPE_CHECKING:
    from fleetqueue.admin.checkups.examination import Diagnosis


def doctor(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    config_map: KueueConfigMapName = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Look for what is wrong with the hub and its workers; say what follows from it, and which command mends it.

    It changes nothing. Workers are looked at with your own contexts, where the kubeconfig has one for their server.
    What the credentials of the hub may do on them is proven through these, where you may read their secrets. What you
    may not see is listed as not looked at, and is no finding.

    Exit codes: 0 nothing found, 4 errors, 5 warnings only; 1, 2 and 3 as for other commands.

    \b
    Example:
      fleetqueue doctor
      fleetqueue doctor -o json | jq -r '.findings[] | [.severity, .code, .wrong] | @tsv'
    """
    from fleetqueue.admin.checkups.findings import Severity
    from fleetqueue.admin.checkups.written import COLOURS, NO_PAINT, as_text

    with Progress() as progress:
        diagnosis, options = run(examined(kubeconfig, context, kueue_namespace, config_map, progress))
    paint = COLOURS if sys.stdout.isatty() and wants_colours() else NO_PAINT
    print(as_text(diagnosis, output.value, options, paint))
    if diagnosis.has(Severity.ERROR):
        raise typer.Exit(Code.ERRORS_FOUND)
    if diagnosis.has(Severity.WARNING):
        raise typer.Exit(Code.WARNINGS_FOUND)


async def examined(
    kubeconfig: Path | None, context: str, kueue_namespace: str, config_map: str, progress: Progress
) -> tuple["Diagnosis", dict[str, Sequence[str]]]:
    """Examine a fleet; return also how its clusters are named to kubectl."""
    from fleetqueue.admin.checkups.examination import examine
    from fleetqueue.admin.checkups.looking import kubectl_options, survey
    from fleetqueue.admin.checkups.reaching import WorkerAccess
    from fleetqueue.client.kubeconfig import contexts
    from fleetqueue.client.transport import connect

    access = WorkerAccess(connect, contexts(kubeconfig))
    async with patience(progress) as report, opened_hub(kubeconfig, context) as hub:
        fleet = await survey(hub, access, kueue_namespace=kueue_namespace, config_map=config_map, report=report)
    file = ("--kubeconfig", str(kubeconfig)) if kubeconfig else ()
    return examine(fleet), kubectl_options(fleet, file, context)


@asynccontextmanager
async def patience(progress: Callable[[str], None]) -> AsyncIterator[Callable[[str], None]]:
    """Say what is under way only once it takes long enough to be noticed."""
    import asyncio

    last = ["reading the hub"]
    loop = asyncio.get_running_loop()
    began = loop.time()

    def report(line: str) -> None:
        last[0] = line
        if loop.time() - began >= PATIENCE:
            progress(line)

    timer = loop.call_later(PATIENCE, lambda: progress(last[0]))
    try:
        yield report
    finally:
        timer.cancel()

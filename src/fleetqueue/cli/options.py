"""What several commands share: options, spelled once, and the cluster that they name."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure, run

if TYPE_CHECKING:
    from fleetqueue.client import Client


class OutputFormat(StrEnum):
    """How a listing is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="The kubeconfig of the hub; otherwise $KUBECONFIG, ~/.kube/config, or the pod's own account."),
]
Context = Annotated[str, typer.Option(help="The context in it; otherwise its current one.")]
Output = Annotated[OutputFormat, typer.Option("--output", "-o", help="How to print it.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="The folder of the fleet; otherwise one in the user's state folder."),
]
KueueNamespace = Annotated[str, typer.Option(help="Where Kueue runs.")]
KueueConfigMapName = Annotated[
    str, typer.Option("--config-map", help="The ConfigMap with Kueue's configuration; otherwise it is found.")
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A YAML file with settings.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, such as placement_admission.drain_timeout=600; may be given often."),
]


def above_zero(seconds: float) -> float:
    """Refuse a time in which nothing can be seen."""
    if not seconds > 0:  # also what is no number
        raise CommandFailure(f"--timeout is a number of seconds above 0, not {seconds:g}", Code.USAGE)
    return seconds


Timeout = Annotated[float, typer.Option(help="Seconds to wait at most; above 0.", callback=above_zero)]


@asynccontextmanager
async def opened(kubeconfig: Path | None, context: str) -> AsyncIterator["Client"]:
    """Open a cluster by its kubeconfig."""
    from fleetqueue.client.kubeconfig import load
    from fleetqueue.client.transport import connect

    client = connect(load(kubeconfig, context))
    try:
        yield client
    finally:
        await client.close()


def show(kubeconfig: Path | None, context: str, command: Callable[["Client"], Awaitable[str]]) -> None:
    """Print what a command on a cluster returns."""

    async def work() -> str:
        async with opened(kubeconfig, context) as client:
            return await command(client)

    print(run(work()))

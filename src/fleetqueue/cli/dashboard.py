"""`fleetqueue dashboard`: one live page about the hub."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fleetqueue.cli.exit_codes import run
from fleetqueue.cli.options import Context, Kubeconfig, KueueNamespace, refuse_worker

LINK = """The dashboard of {hub} is open:

  {link}

Who has this link sees what the kubeconfig may see. To end it: press Ctrl-C"""


def dashboard(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Only the jobs of this namespace; otherwise of all.")
    ] = "",
    kueue_namespace: KueueNamespace = "kueue-system",
    port: Annotated[
        int, typer.Option(help="The port on this machine.", show_default="any that is free", min=0, max=65535)
    ] = 0,
    listener: Annotated[
        int, typer.Option("--socket", help="A socket that listens; the token comes on standard input.", hidden=True)
    ] = -1,
) -> None:
    """Show the hub on one live page: fleet, queues, jobs on a timeline, and why a job waits.

    It prints a link for a browser on this machine. The page only reads, with the rights of the kubeconfig; what may
    not be read is named on it. It listens on 127.0.0.1 alone: from another machine, forward the port with ssh -L.

    \b
    Example:
      fleetqueue dashboard
      fleetqueue dashboard --context hub -n team-a --port 8000
    """
    given = {} if listener < 0 else inherited(listener)
    run(serve(kubeconfig, context, namespace=namespace, kueue_namespace=kueue_namespace, port=port, **given))


def inherited(listener: int) -> dict[str, Any]:
    """Return what a fleet gives to the dashboard that it starts."""
    import socket
    import sys

    return {"listener": socket.socket(fileno=listener), "token": sys.stdin.read()}


async def serve(
    kubeconfig: Path | None, context: str, *, namespace: str, kueue_namespace: str, port: int, **given: Any
) -> None:
    """Serve the page until Ctrl-C."""
    import asyncio
    import logging

    from fleetqueue.client.kubeconfig import load
    from fleetqueue.client.transport import connect
    from fleetqueue.dashboard.server import Dashboard, DashboardSettings

    logging.getLogger("fleetqueue").addHandler(logging.NullHandler())  # what cannot be read stands on the page
    connection = load(kubeconfig, context)
    client = connect(connection)
    try:
        await refuse_worker(client)  # a hub that does not answer at all is said here as well, not on the page
        settings = DashboardSettings(connection.server, port, namespace, kueue_namespace, **given)
        page = Dashboard(client, settings)
        async with page.serving():
            if settings.listener is None:  # else the fleet tells the link, and this is its log
                print(LINK.format(hub=connection.server, link=page.link), flush=True)
            await asyncio.Event().wait()
    finally:
        await client.close()

"""`fleetqueue manifests`, `fleetqueue examples`: what is in the package, for who has no checkout."""

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.manifests import texts

CLUSTER_NAME: Final = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
"""OCM makes a namespace of the name, so it is a DNS label."""

Folder = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", file_okay=False, help="Write files into this folder instead."),
]


class ManifestPart(StrEnum):
    """What `manifests` can print: the names of `texts.PARTS`."""

    CONTROLLER = "controller"
    MONITORING = "monitoring"
    ADD_ON = "add-on"
    WORKER_AGENT = "worker-agent"
    TOKEN_READER = "token-reader"


def manifests(
    part: Annotated[ManifestPart, typer.Argument(help="What to print.")] = ManifestPart.CONTROLLER,
    image: Annotated[
        str, typer.Option(help="The image that the pods run, such as registry.example.com/fleetqueue:1.0.")
    ] = "",
    cluster: Annotated[str, typer.Option(help="The worker's name on the hub, for worker-agent and token-reader.")] = "",
    output: Folder = None,
) -> None:
    """Print the manifests with which fleetqueue is installed, or write them and the Helm chart into a folder.

    \b
    controller     the controller, on the hub
    monitoring     on the hub: Service, ServiceMonitor, alerts and dashboard
    add-on         the score agent as an OCM add-on, on the hub
    worker-agent   the score agent by hand, on a worker
    token-reader   on the hub: the right to read a cluster's token, where OCM's
                   managed-serviceaccount makes it

    With -o, all of them are written as they are: charts/fleetqueue for helm, kustomize and ocm for kubectl.

    \b
    Example:
      fleetqueue manifests -o deploy
      helm install fleetqueue deploy/charts/fleetqueue --namespace fleetqueue-system --create-namespace \\
        --set image.repository=registry.example.com/fleetqueue
      fleetqueue manifests --image registry.example.com/fleetqueue:1.0 | kubectl apply -f -
      fleetqueue manifests token-reader --cluster cluster1 | kubectl apply -f -
    """
    if output is not None:
        if image or cluster:
            raise CommandFailure("-o writes the files as they are: give the image to helm or kustomize", Code.USAGE)
        for path in texts.copy("deploy", output):
            print(path)
        return
    if texts.needs_cluster(part) and not cluster:
        raise CommandFailure(f"{part} is for one cluster: give its name with --cluster", Code.USAGE)
    if cluster and not CLUSTER_NAME.fullmatch(cluster):
        raise CommandFailure(
            f'"{cluster}" cannot be the name of a cluster: at most 63 lower case letters, digits and hyphens, with a'
            " letter or digit at both ends",
            Code.USAGE,
        )
    sys.stdout.write(texts.text(part, image=image, cluster=cluster))


def examples(
    names: Annotated[list[str] | None, typer.Argument(help="Which to print; without any, all are listed.")] = None,
    output: Folder = None,
) -> None:
    """List the examples of the documentation, print some, or write them into a folder.

    \b
    Example:
      fleetqueue examples
      fleetqueue examples job-demo2 | kubectl create -f -
      fleetqueue examples -o examples
    """
    if output is not None:
        if names:
            raise CommandFailure("-o writes all examples: name none", Code.USAGE)
        for path in texts.copy("examples", output):
            print(path)
    elif names:
        try:
            sys.stdout.write("---\n".join(texts.example_text(name) for name in names))
        except FileNotFoundError as unknown:
            raise CommandFailure(str(unknown), Code.USAGE) from unknown
    else:
        known = texts.examples()
        width = max(map(len, known))
        for name, what in known.items():
            print(f"{name:{width}}  {what}")

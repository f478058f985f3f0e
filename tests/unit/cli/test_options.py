"""The options that many commands share: each means the same wherever it is."""

import pytest
import typer

from fleetqueue.cli.main import app

OF_THE_HUB = {
    "--kubeconfig": (
        "The kubeconfig of the hub; otherwise $KUBECONFIG, ~/.kube/config, or the pod's own account.",
        None,
    ),
    "--context": ("The context in it; otherwise its current one.", ""),
}
OF_A_WORKER = {
    **OF_THE_HUB,
    "--kubeconfig": (
        "The kubeconfig of the worker; otherwise $KUBECONFIG, ~/.kube/config, or the pod's own account.",
        None,
    ),
}
OF_THE_HUB_BESIDE_A_WORKER = {
    "--hub-kubeconfig": OF_THE_HUB["--kubeconfig"],
    "--hub-context": ("The context in that; otherwise its current one.", ""),
}
WORKER_MUST_BE_NAMED = {
    **OF_THE_HUB,
    "--kubeconfig": ("An administrator's kubeconfig of the worker.", None),
}
"""No default: what somebody uses all day is the hub, which must not be joined by mistake."""
ADMIN_OF_A_WORKER = {
    **OF_THE_HUB,
    "--kubeconfig": (
        "An administrator's kubeconfig of the worker; otherwise $KUBECONFIG, ~/.kube/config, or the pod's own account.",
        None,
    ),
}
"""It makes accounts and roles there, which takes an administrator."""
OF_THE_HUB_AND_THE_WORKER_OF_A_JOB = {
    **OF_THE_HUB,
    "--worker-context": ("Your context for the worker; otherwise one of your kubeconfig that leads there.", ""),
}
"""Which worker has the job is known only then, so that one kubeconfig has both, and the context is found."""
ABOUT_WORKERS = {
    ("join",): WORKER_MUST_BE_NAMED | OF_THE_HUB_BESIDE_A_WORKER,
    ("kubeconfig", "create"): ADMIN_OF_A_WORKER,
    ("logs",): OF_THE_HUB_AND_THE_WORKER_OF_A_JOB,
    ("score-agent",): OF_A_WORKER | OF_THE_HUB_BESIDE_A_WORKER,
}
"""Commands that speak with a worker, and what they mean by a kubeconfig therefore."""
NO_CLUSTER = {
    ("demo",),
    ("engine", "build"),
    ("up",),
    ("list",),
    ("status",),
    ("down",),
    ("kubeconfig", "show"),
    ("restart",),
    ("cut",),
    ("heal",),
    ("pause",),
    ("resume",),
    ("manifests",),
    ("examples",),
}
"""Commands about fleets on this machine, which are found by their folder, and about what is in the package."""


def commands(command=None, path=()):
    command = command or typer.main.get_command(app)
    nested = getattr(command, "commands", None)
    if nested is None:
        yield path, command
        return
    for name, inner in nested.items():
        yield from commands(inner, (*path, name))


COMMANDS = dict(commands())


def of_clusters(command):
    """Return the options by which a command finds clusters, with what they say and what they are otherwise."""
    options = {name: option for option in command.params for name in option.opts if name.startswith("--")}
    wanted = {name: option for name, option in options.items() if name.endswith(("kubeconfig", "context"))}
    return {name: (" ".join(option.help.split()), option.default) for name, option in wanted.items()}


@pytest.mark.parametrize("path", sorted(COMMANDS.keys() - NO_CLUSTER), ids=" ".join)
def test_a_cluster_is_named_alike_by_every_command(path):
    assert of_clusters(COMMANDS[path]) == ABOUT_WORKERS.get(path, OF_THE_HUB)


@pytest.mark.parametrize("path", sorted(NO_CLUSTER), ids=" ".join)
def test_a_command_that_asks_no_cluster_takes_none(path):
    assert of_clusters(COMMANDS[path]) == {}


def test_a_fleet_on_this_machine_is_named_alike_by_every_command():
    named = {
        path: (" ".join(option.help.split()), option.default)
        for path, command in COMMANDS.items()
        for option in command.params
        if "--data-dir" in option.opts
    }

    assert named.keys() == NO_CLUSTER - {("engine", "build"), ("list",), ("manifests",), ("examples",)} | {("logs",)}
    assert set(named.values()) == {("The folder of the fleet; otherwise one in the user's state folder.", None)}

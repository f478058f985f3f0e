"""Help: every command has one that teaches, and it comes fast."""

import pytest

COMMANDS = [
    (),
    ("demo",),
    ("up",),
    ("status",),
    ("down",),
    ("logs",),
    ("restart",),
    ("engine",),
    ("engine", "build"),
    ("kubeconfig",),
    ("kubeconfig", "show"),
    ("kubeconfig", "create"),
    ("join",),
    ("unjoin",),
    ("clusterset",),
    ("clusterset", "create"),
    ("clusterset", "set"),
    ("clusterset", "bind"),
    ("clusterset", "unbind"),
    ("get",),
    ("get", "clusters"),
    ("get", "clustersets"),
    ("get", "placements"),
    ("get", "scores"),
    ("get", "jobs"),
    ("manifests",),
    ("examples",),
    ("install",),
    ("uninstall",),
    ("controller",),
    ("score-agent",),
    ("secret-reader",),
]
LISTINGS = [("status",), *(command for command in COMMANDS if len(command) == 2 and command[0] == "get")]


def named(command: tuple[str, ...]) -> str:
    return " ".join(command) or "fleetqueue"


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_help_has_an_example_that_begins_with_the_command(fleetqueue, command):
    result = fleetqueue(*command, "--help")

    assert result.code == 0
    assert "Example:" in result.out
    assert f"fleetqueue {' '.join(command)}".strip() in result.out.partition("Example:")[2]


@pytest.mark.parametrize("command", LISTINGS, ids=named)
def test_every_listing_can_be_printed_for_programs(fleetqueue, command):
    result = fleetqueue(*command, "--help")

    assert "-o, --output <table|json|yaml>" in result.out


def test_every_command_is_in_this_list():
    from fleetqueue.cli.main import app

    top = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    nested = {
        (name, command.name or command.callback.__name__)
        for name, group in groups.items()
        for command in group.registered_commands
    }

    assert {(), *((name,) for name in top | set(groups)), *nested} == set(COMMANDS)


def test_the_exit_codes_are_documented(fleetqueue):
    assert "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found or not in time." in fleetqueue("--help").out


def test_the_version_is_printed(fleetqueue):
    from fleetqueue import __version__

    assert fleetqueue("--version").out == f"fleetqueue {__version__}\n"

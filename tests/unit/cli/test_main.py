"""Help: every command has one that teaches, and it comes fast."""

import re
from io import BytesIO, TextIOWrapper

import pytest

from fleetqueue.cli.exit_codes import MEANINGS, Code
from fleetqueue.cli.main import program, write_everywhere

COMMANDS = [
    (),
    ("demo",),
    ("up",),
    ("list",),
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
    ("explain",),
    ("explain", "job"),
    ("explain", "workload"),
    ("explain", "queue"),
    ("explain", "placement"),
    ("explain", "cluster"),
    ("doctor",),
    ("get",),
    ("get", "clusters"),
    ("get", "clustersets"),
    ("get", "placements"),
    ("get", "scores"),
    ("get", "jobs"),
    ("dashboard",),
    ("submit",),
    ("drain",),
    ("undrain",),
    ("cut",),
    ("heal",),
    ("pause",),
    ("resume",),
    ("manifests",),
    ("examples",),
    ("install",),
    ("uninstall",),
    ("controller",),
    ("score-agent",),
    ("secret-reader",),
]
LISTINGS = [
    ("list",),
    ("status",),
    ("submit",),
    ("drain",),
    ("undrain",),
    ("unjoin",),
    ("install",),
    ("uninstall",),
    *(command for command in COMMANDS if len(command) == 2 and command[0] in ("clusterset", "explain", "get")),
]


def named(command: tuple[str, ...]) -> str:
    return " ".join(command) or "fleetqueue"


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_help_has_an_example_that_begins_with_the_command(fleetqueue, command):
    result = fleetqueue(*command, "--help")

    assert result.code == 0
    assert "Example:" in result.out
    assert f"fleetqueue {' '.join(command)}".strip() in result.out.partition("Example:")[2]


@pytest.mark.parametrize("command", COMMANDS, ids=named)
def test_help_fits_a_terminal_and_cuts_nothing_off(fleetqueue, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")

    usage, _, told = fleetqueue(*command, "--help").out.partition("\n")
    before, _, after = told.partition("  Example:\n")  # what can be typed as it stands may be longer
    lines = [usage.removesuffix("..."), *before.splitlines(), *after.partition("\n\n")[2].splitlines()]

    assert [line for line in lines if len(line) > 80 or line.endswith("...")] == []


@pytest.mark.parametrize("command", LISTINGS, ids=named)
def test_every_listing_can_be_printed_for_programs(fleetqueue, command):
    result = fleetqueue(*command, "--help")

    assert re.search(r"-o, --output <table\|(wide\|)?json\|yaml>", result.out)


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
    listed = ", ".join(f"{code:d} {meaning}" for code, meaning in MEANINGS.items())

    assert f"Exit codes: {listed}." in " ".join(fleetqueue("--help").out.split())
    assert {*MEANINGS} == {*Code}


def test_the_version_is_printed(fleetqueue):
    from fleetqueue import __version__

    assert fleetqueue("--version").out == f"fleetqueue {__version__}\n"


def test_a_terminal_without_unicode_shows_the_numbers_of_signs():
    stream = TextIOWrapper(BytesIO(), encoding="ascii")

    write_everywhere(stream)
    print("├── spoke", file=stream, flush=True)

    assert stream.buffer.getvalue() == b"\\u251c\\u2500\\u2500 spoke\n"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/usr/bin/fleetqueue", "fleetqueue", id="by itself"),
        pytest.param("/usr/bin/kubectl-fleetqueue", "kubectl fleetqueue", id="as a plugin of kubectl"),
        pytest.param("/src/fleetqueue/__main__.py", "fleetqueue", id="as a module"),
    ],
)
def test_help_names_the_program_as_it_was_called(path, name):
    assert program(path) == name

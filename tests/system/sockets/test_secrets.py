"""No token, key or secret of a fleet stands in what commands print, in the logs that they leave, or in pictures."""

import importlib
import json
import os
import signal
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.secret_values import findable, names_of_those_with, of_kubeconfig, of_secrets
from tests.system.asking import check_answers_at

from .typed import Typed, job

pytestmark = pytest.mark.timeout(300)

TOOLS = Path(__file__).parents[3] / "tools"
CONTEXTS = ("hub", "cluster1", "cluster2", "cluster3")
READING = (
    ("get", "clusters"),
    ("get", "clusters", "-o", "json"),
    ("get", "jobs", "-A", "-o", "wide"),
    ("get", "jobs", "-A", "-o", "json"),
    ("get", "placements", "--why", "-o", "json"),
    ("explain", "job", "job-secret"),
    ("explain", "job", "job-secret", "-o", "json"),
    ("explain", "queue", "user-queue-demo2", "-o", "yaml"),
    ("explain", "placement", "placement-demo2", "-o", "json"),
    ("explain", "cluster", "cluster2", "-o", "json"),
    ("doctor",),
    ("doctor", "-o", "json"),
    ("status", "-o", "json"),
    ("list", "-o", "json"),
    ("logs", "job-secret"),
    ("drain", "cluster3", "-o", "json"),
    ("undrain", "cluster3"),
    ("get", "clusters", "-o", "yaml"),
)
WATCHING = (
    ("get", "jobs", "-A", "-w", "-o", "json"),
    ("get", "clusters", "-w"),
)
"""What goes on until Ctrl-C; it has printed something then."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    person = Typed(tmp_path_factory.mktemp("state"))
    try:
        person.bring_up()
        yield person
    finally:
        person("down", "--delete")


@pytest.fixture(scope="module")
def secrets(typed):
    return secrets_of(typed, typed.environ["KUBECONFIG"])


def secrets_of(typed, kubeconfig):
    """Return what others must not read of a fleet: values of Secrets, and what opens clusters in kubeconfigs."""
    values = {*of_kubeconfig(Path(kubeconfig).read_text())}
    for context in CONTEXTS:
        place = ("--kubeconfig", str(kubeconfig), "--context", context)
        code, out, err = typed(*place, "get", "secrets", "-A", "-o", "json", program="kubectl")
        assert code == 0, err
        values.update(of_secrets(json.loads(out)["items"]))
    return findable(values)


@pytest.fixture(scope="module")
def joining(typed, tmp_path_factory):
    """Return what is typed to join a worker, whose kubeconfig holds the key of its administrator."""
    file = tmp_path_factory.mktemp("worker") / "kubeconfig"
    file.write_text(typed("kubeconfig", "cluster3")[1])
    return ("join", "cluster3", "--kubeconfig", str(file), "--label", "seen=yes")


def until_ctrl_c(typed, words):
    """Type what goes on, and press Ctrl-C when it has printed a line."""
    process = typed.start(*words)
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=60)
    return process.returncode, first + rest, err


def test_commands_print_no_secret_and_logs_keep_none(typed, secrets, joining):
    planned = typed("explain", "job", "-f", "-", "-o", "json", stdin=job("job-planned", 1))
    submitted = typed("submit", "-f", "-", "--follow", "-o", "json", stdin=job("job-secret", 1))
    followed = typed("submit", "-f", "-", "--follow", stdin=job("job-followed", 1))
    printed = {"explain -f": planned, "submit": submitted, "submit --follow": followed, "join": typed(*joining)}
    printed |= {" ".join(words): typed(*words) for words in READING}
    printed |= {" ".join(words): until_ctrl_c(typed, words) for words in WATCHING}
    texts = {name: out + err for name, (_, out, err) in printed.items()}
    folder = Path(typed.environ["XDG_STATE_HOME"])
    texts |= {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.log*")}

    assert len(secrets) > len(CONTEXTS)
    assert all(texts[name] for name in printed), [name for name in printed if not texts[name]]
    assert any(name.endswith(".log") for name in texts)
    assert names_of_those_with(secrets, texts) == []


def test_the_demo_prints_no_secret_and_its_logs_keep_none(typed, tmp_path):
    folder = tmp_path / "demo"
    code, out, err = typed("demo", "2", "--keep", "--data-dir", str(folder))
    try:
        texts = {"out": out, "err": err} | {path.name: path.read_text() for path in folder.rglob("*.log*")}
        secrets = secrets_of(typed, folder / "kubeconfig")
        check_answers_at(folder / "kubeconfig")
    finally:
        typed("down", "--delete", "--data-dir", str(folder))

    assert code == 0, err
    assert len(secrets) > len(CONTEXTS)
    assert names_of_those_with(secrets, texts) == []


@pytest.fixture
def draw_commands(monkeypatch):
    """Return the program that draws what commands print."""
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("draw_commands")


def test_pictures_of_commands_show_no_secret(typed, secrets, draw_commands, tmp_path):
    environment = {**typed.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    longest = max(secrets, key=len)

    shown = {name: words(picture) for name, picture in draw_commands.pictures(str(tmp_path), environment)}

    assert all("succeeded" in shown[f"submit-{width}.svg"] for width in draw_commands.WIDTHS)
    assert all("QuotaShort" in shown[f"explain-{width}.svg"] for width in draw_commands.WIDTHS)
    assert longest in words(draw_commands.drawn("fleetqueue", longest, 80)), "it would be found, were it there"
    assert names_of_those_with(secrets, shown) == []


def words(picture):
    """Return what can be read in a picture, without the places where lines end: a long word goes over several."""
    return "".join("".join(ElementTree.fromstring(picture).itertext()).split())

"""Settings from YAML and flags: what is taken, and what the error says of what is not."""

from pathlib import Path

import pytest
import yaml

from fleetqueue.controllers.processes.settings import HubSettings, WorkerSettings
from fleetqueue.controllers.processes.settings_file import SettingsError, dump, known_keys, load, parse


def test_nothing_given_means_the_defaults():
    assert load(HubSettings) == HubSettings()
    assert load(WorkerSettings) == WorkerSettings()


@pytest.mark.parametrize(
    ("override", "read"),
    [
        pytest.param("kueue_namespace=kueue", lambda s: s.kueue_namespace == "kueue", id="text"),
        pytest.param("probes.port=0", lambda s: s.probes.port == 0, id="a whole number"),
        pytest.param("recheck=60", lambda s: s.recheck == 60.0, id="a whole number where any number may be"),
        pytest.param("leader_election.enabled=false", lambda s: not s.leader_election.enabled, id="false"),
        pytest.param(
            "placement_admission.drain_timeout=3.5", lambda s: s.placement_admission.drain_timeout == 3.5, id="number"
        ),
        pytest.param("credentials.job_kinds=[pod]", lambda s: s.credentials.job_kinds == ("pod",), id="a list"),
        pytest.param("kueue_config_map=x", lambda s: s.filled().credentials.kueue_config_map == "x", id="from above"),
        pytest.param("logs.format=json", lambda s: s.logs.format == "json", id="one of several words"),
    ],
)
def test_one_setting_by_flag(override, read):
    assert read(load(HubSettings, overrides=[override]))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        pytest.param("kueue", "not of the form key=value", id="no equals sign"),
        pytest.param("namespce=x", 'unknown setting "namespce", did you mean "namespace"?', id="misspelled"),
        pytest.param(
            "probes.prot=1", '"probes.prot", did you mean "port"?; in probes are host, port', id="in a section"
        ),
        pytest.param(
            "probes.port=http", 'setting "probes.port": expected a whole number, got text', id="text, no number"
        ),
        pytest.param("probes.port=70000", "must be between 0 and 65535", id="no port"),
        pytest.param("probes=8080", 'setting "probes": expected keys and values', id="a value for a section"),
        pytest.param("recheck.x=1", 'unknown setting|setting "recheck": expected a number', id="a section for a value"),
        pytest.param("logs.format=xml", 'setting "logs.format": must be one of text, json', id="not one of the words"),
        pytest.param("leader_election.enabled=1", "expected true or false, got a whole number", id="1 is not true"),
        pytest.param("leader_election.retry=20", "retry must be less than renew_deadline", id="times that contradict"),
        pytest.param("credentials.job_kinds=[tfjob]", "unknown job kind tfjob; known are", id="unknown job kind"),
        pytest.param("credentials.namespace=x", 'unknown setting "credentials.namespace"', id="chosen at the top"),
        pytest.param("placement_admission.naming=x", "naming must be one of placement, cluster", id="unknown naming"),
        pytest.param("recheck=-1", 'setting "recheck": must not be negative', id="a negative number"),
        pytest.param(
            "placement_admission.drain_timeout=-5",
            'setting "placement_admission.drain_timeout": must not be negative',
            id="a negative number in a section",
        ),
        pytest.param(
            "placement_admission.secret_name=foo", "secret_name must have {cluster} in it", id="one secret for all"
        ),
        pytest.param(
            "placement_admission.secret_name='{clust}-x'", "secret_name must have {cluster} in it", id="another field"
        ),
        pytest.param("recheck={", "is no YAML value", id="broken YAML"),
    ],
)
def test_a_wrong_setting_is_named(override, message):
    with pytest.raises(SettingsError, match=message.replace("?", r"\?").replace("(", r"\(").replace("{", r"\{")):
        load(HubSettings, overrides=[override])


def test_flags_win_over_the_file(tmp_path: Path):
    file = tmp_path / "settings.yaml"
    file.write_text("probes: {host: 0.0.0.0, port: 9}\nnamespace: ours\n")

    settings = load(HubSettings, file, ["probes.port=10"])

    assert (settings.probes.host, settings.probes.port, settings.namespace) == ("0.0.0.0", 10, "ours")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("- a list", "must hold keys and values", id="a list"),
        pytest.param("{", "is not YAML", id="broken"),
        pytest.param("scores: {validity: 1}", "validity is 1.0 s but must be", id="a room refuses a value"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, content, message):
    file = tmp_path / "settings.yaml"
    file.write_text(content)

    with pytest.raises(SettingsError, match=message):
        load(WorkerSettings, file)


def test_an_empty_file_means_the_defaults(tmp_path: Path):
    file = tmp_path / "settings.yaml"
    file.write_text("# nothing yet\n")

    assert load(HubSettings, file) == HubSettings()


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(SettingsError, match="cannot read the settings file"):
        load(HubSettings, tmp_path / "nope.yaml")


def test_every_section_gets_the_namespaces_of_the_top():
    settings = HubSettings(kueue_namespace="k", namespace="n").filled()

    assert settings.leader_election.namespace == "n"
    assert settings.placement_admission.kueue_namespace == "k"
    assert (settings.credentials.kueue_namespace, settings.credentials.namespace) == ("k", "n")


@pytest.mark.parametrize("kind", [HubSettings, WorkerSettings])
def test_what_is_printed_can_be_read_again(kind):
    assert parse(kind, yaml.safe_load(dump(kind()))) == kind()


@pytest.mark.parametrize("kind", [HubSettings, WorkerSettings])
def test_every_setting_has_a_docstring(kind):
    undocumented = [name for name in undocumented_fields(kind) if name not in SECTIONS]

    assert undocumented == []


SECTIONS = {
    "fence",
    "probes",
    "logs",
    "leader_election",
    "placement_admission",
    "credentials",
    "silent_agents",
    "scores",
}


def undocumented_fields(kind: type) -> list[str]:
    """Name the fields, at any depth, that no string stands under."""
    import ast
    import inspect
    import sys
    from dataclasses import is_dataclass

    tree = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    bodies = {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}
    body = bodies[kind.__name__]
    own = {
        statement.target.id: isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        for statement, following in zip(body, [*body[1:], None], strict=True)
        if isinstance(statement, ast.AnnAssign)
    }
    missing = [name for name, documented in own.items() if not documented]
    for name, inner in known_keys(kind).items():
        if is_dataclass(inner) and name in own:
            missing += [f"{name}.{field}" for field in undocumented_fields(inner)]
    return missing

"""What people mistype on a fleet that runs: the answer is one line that names the thing and the next step."""

import base64
import re
import shlex

import pytest
import yaml

from fleetqueue.manifests.custom_kinds import crds

from .typed import Typed, job

pytestmark = pytest.mark.timeout(300)

ASCII = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A terminal that has nothing but ASCII, without the help that Python offers by itself in this locale."""


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    person = Typed(tmp_path_factory.mktemp("state"))
    try:
        person.bring_up("--in-memory")
        yield person
    finally:
        person("down", "--delete")


@pytest.fixture
def with_authority(typed, tmp_path):
    """Write the kubeconfig of the fleet with something else in place of the clusters' authorities."""

    def write(name, content):
        data = base64.b64encode(content).decode()
        text, count = re.subn(r"(certificate-authority-data: ).*", rf"\g<1>{data}", typed("kubeconfig", "show")[1])
        assert count > 0
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("get", "clusters"), id="get clusters"),
        pytest.param(("explain", "cluster", "cluster1"), id="explain"),
        pytest.param(("join", "cluster9", "--context", "cluster1"), id="join"),
        pytest.param(("doctor",), id="doctor"),
    ],
)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"hello", id="a text"),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", id="a broken certificate"),
    ],
)
def test_a_broken_authority_is_named_by_its_file_and_the_next_step(typed, with_authority, command, content):
    kubeconfig = with_authority("broken", content)

    code, out, err = typed(*command, "--kubeconfig", kubeconfig)

    assert (code, out) == (1, "")
    assert f"the certificate authority of {kubeconfig} cannot be read" in err
    assert err.endswith("; get this kubeconfig anew from whoever runs the cluster\n")
    assert len(err.splitlines()) == 1


def test_a_broken_authority_is_named_also_where_the_environment_names_the_file(typed, with_authority, monkeypatch):
    kubeconfig = with_authority("broken", b"hello")
    monkeypatch.setitem(typed.environ, "KUBECONFIG", kubeconfig)

    assert f"of {kubeconfig} cannot be read" in typed("get", "clusters")[2]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("submit", "-f", "-", "--follow"), id="submit"),
        pytest.param(("explain", "job", "x"), id="explain job"),
        pytest.param(("explain", "job", "-f", "-"), id="explain a planned job"),
        pytest.param(("explain", "queue", "user-queue-demo2"), id="explain queue"),
        pytest.param(("explain", "placement", "x"), id="explain placement"),
        pytest.param(("explain", "cluster", "x"), id="explain cluster"),
        pytest.param(("get", "jobs"), id="get jobs"),
        pytest.param(("get", "jobs", "-w"), id="get jobs -w"),
        pytest.param(("get", "clusters"), id="get clusters"),
        pytest.param(("get", "clustersets"), id="get clustersets"),
        pytest.param(("get", "placements", "--why"), id="get placements"),
        pytest.param(("get", "scores"), id="get scores"),
        pytest.param(("logs", "x", "-f"), id="logs"),
        pytest.param(("dashboard",), id="dashboard"),
        pytest.param(("doctor",), id="doctor"),
        pytest.param(("drain", "x"), id="drain"),
        pytest.param(("undrain", "x"), id="undrain"),
        pytest.param(("unjoin", "x"), id="unjoin"),
        pytest.param(("clusterset", "create", "x"), id="clusterset create"),
        pytest.param(("clusterset", "set", "x", "--clusters", "x"), id="clusterset set"),
        pytest.param(("clusterset", "bind", "x", "-n", "default"), id="clusterset bind"),
        pytest.param(("clusterset", "unbind", "x", "-n", "default"), id="clusterset unbind"),
        pytest.param(("install",), id="install"),
        pytest.param(("uninstall",), id="uninstall"),
    ],
)
def test_a_worker_is_not_taken_for_the_hub(typed, command):
    code, out, err = typed(*command, "--context", "cluster3", stdin=job("stray", 1))

    assert (code, out) == (3, "")
    assert err.startswith("error: this cluster is a worker, not the hub: ")
    assert err.endswith("; name the hub with --kubeconfig or --context\n")
    assert "stray" not in typed("--context", "cluster3", "get", "jobs", program="kubectl")[1]


def test_workloads_of_a_worker_are_explained_there(typed):
    code, _, err = typed("explain", "workload", "x", "--context", "cluster3")

    assert code == 3
    assert "x" in err
    assert "not the hub" not in err


def test_a_worker_is_not_joined_to_a_worker_and_nothing_is_written_there(typed, tmp_path):
    worker = tmp_path / "kubeconfig"
    worker.write_text(typed("kubeconfig", "cluster1")[1])

    code, _, err = typed("join", "lost", "--kubeconfig", str(worker), "--hub-context", "cluster3")

    assert code == 3
    assert "this cluster is a worker, not the hub: " in err
    assert err.endswith("; name the hub with --hub-kubeconfig or --hub-context\n")
    assert "lost" not in typed("--context", "cluster3", "get", "namespaces", program="kubectl")[1]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        pytest.param(("get", "jobs", "--context", "nope"), 2, 'no context "nope"; it has: hub, cluster1', id="context"),
        pytest.param(("get", "jobs", "nope"), 3, 'no job "nope"; `fleetqueue get jobs` shows those that are', id="job"),
        pytest.param(
            ("explain", "job", "nope"),
            3,
            'no job "nope" in namespace default, and no Workload of one; `fleetqueue get jobs` shows those that are',
            id="job to explain",
        ),
        pytest.param(
            ("explain", "queue", "nope"),
            3,
            '"nope" in namespace default; `kubectl get localqueues --all-namespaces` shows those that are',
            id="queue",
        ),
        pytest.param(
            ("explain", "queue", "cluster-queue-demo2"),
            3,
            "is a ClusterQueue; a LocalQueue that leads to it is explained by `fleetqueue explain queue"
            " user-queue-demo2 -n default`",
            id="ClusterQueue",
        ),
        pytest.param(
            ("explain", "placement", "nope"),
            3,
            '"nope" not found; `fleetqueue get placements` shows those that are',
            id="placement",
        ),
        pytest.param(
            ("drain", "nope"), 3, '"nope" not found; `fleetqueue get clusters` shows those that are', id="cluster"
        ),
        pytest.param(
            ("clusterset", "bind", "nope", "-n", "default"),
            3,
            '"nope" not found; `fleetqueue get clustersets` shows those that are',
            id="cluster set",
        ),
        pytest.param(
            ("clusterset", "bind", "spoke", "-n", "nope"),
            3,
            '"nope" not found; `kubectl get namespaces` shows those that are',
            id="namespace",
        ),
        pytest.param(("cut", "hub"), 3, "they are: cluster1, cluster2, cluster3", id="worker"),
        pytest.param(("logs", "hub/nope"), 3, "known are: hub/apiserver", id="log"),
        pytest.param(("kubeconfig", "nope"), 3, "known are: cluster1, cluster2, cluster3, hub", id="kubeconfig"),
        pytest.param(
            ("status", "--data-dir", "/nope"), 3, "start one with `fleetqueue up --data-dir /nope`", id="fleet"
        ),
        pytest.param(("up", "--detach"), 1, "stop it with `fleetqueue down`", id="a second time"),
    ],
)
def test_what_is_not_there_is_told_with_what_shows_those_that_are(typed, command, code, said):
    answer = typed(*command)

    assert answer[0] == code
    assert said in answer[2]
    assert len(answer[2].splitlines()) == 1


def test_a_port_that_is_taken_is_told_with_the_option_that_chooses_another(typed, tmp_path):
    port = re.search(r"https://127\.0\.0\.1:(\d+)", typed("kubeconfig", "hub")[1])[1]

    page = typed("dashboard", "--port", port)
    fleet = typed("up", "--detach", "--ports-from", port, "--data-dir", str(tmp_path / "other"))

    assert page[0] == fleet[0] == 1
    assert page[2].endswith("address already in use; choose another --port\n")
    assert "or begin elsewhere with --ports-from" in fleet[2]


def test_who_is_refused_by_an_admission_webhook_is_not_told_to_get_more_rights(typed):
    code, _, err = typed("submit", "-f", "-", "--queue", "Not A Queue", stdin=job("refused", 1))

    assert code == 1
    assert 'error: admission webhook "' in err
    assert "rights" not in err


def test_in_a_terminal_without_unicode_all_is_printed_and_chinese_files_are_read(typed, tmp_path, monkeypatch):
    for name, value in ASCII.items():
        monkeypatch.setitem(typed.environ, name, value)
    file = tmp_path / "job.yaml"
    chinese = job("chinese", 1).replace("  name: chinese", "  name: chinese\n  annotations: {note: 训练 → 完成}")
    file.write_text(chinese, encoding="utf-8")

    answers = [
        typed("get", "clusters"),
        typed("explain", "cluster", "cluster2"),
        typed("explain", "job", "-f", str(file)),
        typed("submit", "-f", str(file)),
        typed("submit", "-f", "-", "--dry-run", stdin=job("plain", 1)),
        typed("get", "jobs", "-o", "wide"),
    ]

    assert [(code, err) for code, _, err in answers] == [(0, "")] * len(answers)
    assert all(out.isascii() for _, out, _ in answers)


@pytest.fixture(scope="module")
def bare_worker(typed, tmp_path_factory):
    """Return the kubeconfig of a cluster that has Kueue's kinds, and neither OCM nor anything of ours."""
    folder = str(tmp_path_factory.mktemp("bare"))
    code, _, err = typed("up", "--workers", "1", "--in-memory", "--detach", "--data-dir", folder)
    assert code == 0, err
    kubeconfig = f"{folder}/cluster1/kubeconfig"
    kinds = yaml.safe_dump_all(crds("kueue"))
    code, _, err = typed("--kubeconfig", kubeconfig, "create", "-f", "-", program="kubectl", stdin=kinds)
    assert code == 0, err
    yield kubeconfig
    typed("down", "--delete", "--data-dir", folder)


@pytest.mark.parametrize("seconds", ["4", "0.1"])
def test_who_waits_too_short_for_a_new_worker_hears_nothing_against_the_controller(typed, bare_worker, seconds):
    name = f"bare{seconds.replace('.', '-')}"

    code, _, err = typed("join", name, "--kubeconfig", bare_worker, "--timeout", seconds)

    assert code == 3
    assert f"not within {seconds} s" in err
    assert "the controller is at work" in err
    assert "run this again with a longer --timeout" in err


@pytest.mark.parametrize(
    "record",
    [
        pytest.param('{"workers": 1, "engine": "embed', id="half written"),
        pytest.param("[]", id="something else"),
        pytest.param('{"workers": 1, "engine": "steam"}', id="an engine that nobody has"),
    ],
)
def test_the_advice_for_a_broken_record_of_a_fleet_works_as_it_is_printed(typed, tmp_path, record):
    folder = tmp_path / "my fleet"
    start = ("up", "--workers", "1", "--detach", "--data-dir", str(folder))
    typed(*start)
    typed("down", "--data-dir", str(folder))
    (folder / "fleet.json").write_text(record)

    broken = typed(*start)
    (advice,) = re.findall(r"`fleetqueue (down --delete [^`]*)`", broken[2])
    followed = typed(*shlex.split(advice))
    again = typed(*start)

    assert broken[0] == 1
    assert f"{folder}/fleet.json is broken" in broken[2]
    assert followed[:2] == (0, f"the fleet in {folder} is gone\n")
    assert again[0] == 0, again[2]
    assert typed(*shlex.split(advice))[0] == 0

"""Commands about jobs and workers, as typed, on an embedded fleet: submit, get, logs, drain, cut."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
import yaml

from .typed import Typed, job

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    person = Typed(tmp_path_factory.mktemp("state"))
    try:
        person.bring_up("--in-memory")
        yield person
    finally:
        person("down", "--delete")


def test_a_job_is_followed_through_its_phases_to_its_end(typed):
    code, out, err = typed("submit", "-f", "-", "--follow", "-o", "json", stdin=job("good", 5))
    phases = [json.loads(line)["phase"] for line in out.splitlines()]

    assert code == 0, err
    assert phases[0] == "queued"
    assert "running" in phases
    assert phases[-1] == "succeeded"


def test_the_exit_code_says_that_a_job_has_failed(typed):
    code, out, err = typed("submit", "-f", "-", "--follow", stdin=job("bad", 1, fails=True))

    assert code == 1
    assert "failed on cluster2" in out
    assert "not every job has succeeded" in err


def test_a_queue_that_is_not_there_is_said_and_nothing_is_written(typed):
    code, _, err = typed("submit", "-f", "-", "--queue", "nope", "--dry-run", stdin=job("never", 1))

    assert code == 3
    assert 'there is no LocalQueue "nope" in namespace default; there are: user-queue-demo2' in err
    assert typed("get", "jobs", "never")[0] == 3


def test_several_planned_jobs_are_explained_from_standard_input_and_none_is_submitted(typed):
    unlabelled = yaml.safe_load(job("loose", 1)) | {"metadata": {"name": "loose"}}
    both = [yaml.safe_load(job("planned", 1)), unlabelled]

    code, out, err = typed("explain", "job", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all(both))

    assert code == 0, err
    assert [(row["about"], row["cause"]) for row in json.loads(out)] == [
        ("Job/planned, not submitted", "Open"),
        ("Job/loose, not submitted", "NoQueue"),
    ]
    assert typed("get", "jobs", "planned")[0] == 3


def test_a_planned_job_is_explained_with_the_queue_that_submit_would_give_it(typed):
    unlabelled = yaml.safe_dump(yaml.safe_load(job("loose", 1)) | {"metadata": {"name": "loose"}})
    plan = ("explain", "job", "-f", "-", "-o", "json", "--queue")

    (found,) = rows(typed(*plan, "user-queue-demo2", stdin=unlabelled))
    (missing,) = rows(typed(*plan, "nope", stdin=unlabelled))

    assert (found["cause"], missing["cause"]) == ("Open", "LocalQueueMissing")


def test_what_kubectl_prints_for_a_job_names_it(typed):
    typed("submit", "-f", "-", stdin=job("named", 60))
    (printed,) = typed("get", "job", "named", "-o", "name", program="kubectl")[1].split()

    (listed,) = rows(typed("get", "jobs", printed, "-o", "json"))
    explained = [rows(typed("explain", *words, "-o", "json"))[0]["about"] for words in (("job", printed), (printed,))]
    code, _, err = typed("logs", printed, "--follow")

    assert printed == "job.batch/named"
    assert listed["job"] == "Job/named"
    assert explained == ["Job/named of namespace default"] * 2
    assert code == 0, err


def test_logs_are_read_on_the_worker_until_the_job_ends(typed):
    typed("submit", "-f", "-", stdin=job("talks", 30))

    code, out, err = typed("logs", "talks", "-f")

    assert code == 0, err
    assert [line.split("  ", 1)[1] for line in out.splitlines()][-2:] == ["ran for 30s", "ended with code 0"]


def test_a_worker_is_known_by_who_it_is_where_the_hub_knows_it_by_another_address(typed, tmp_path):
    elsewhere = tmp_path / "kubeconfig"
    elsewhere.write_text(Path(typed.environ["KUBECONFIG"]).read_text().replace("127.0.0.1", "localhost"))
    typed("submit", "-f", "-", stdin=job("known", 20))

    code, out, err = typed("logs", "known", "-f", "--kubeconfig", str(elsewhere))

    assert code == 0, err
    assert out.splitlines()[-1].endswith("  ended with code 0")


def test_a_context_of_another_cluster_is_said_to_be_one(typed):
    typed("submit", "-f", "-", stdin=job("elsewhere", 60))

    wrong_worker = typed("logs", "elsewhere", "-f", "--worker-context", "cluster1")
    hub = typed("logs", "elsewhere", "--worker-context", "hub")

    assert wrong_worker[0] == hub[0] == 3
    assert "Job/elsewhere is on cluster2, and context cluster1 leads to cluster1; name a" in wrong_worker[2]
    assert "and context hub leads to the hub" in hub[2]


def pods_of_all_kinds():
    """Write a pod of a group that is not complete, and a StatefulSet, both for the queue."""
    queue = {"kueue.x-k8s.io/queue-name": "user-queue-demo2"}
    spec = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
    labels, annotations = (
        {**queue, "kueue.x-k8s.io/pod-group-name": "grp"},
        {"kueue.x-k8s.io/pod-group-total-count": "2"},
    )
    metadata = {"name": "g1", "labels": labels, "annotations": annotations}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "restartPolicy": "Never"}}
    template = {"metadata": {"labels": {"app": "set"}}, "spec": spec}
    of_set = {"serviceName": "set", "selector": {"matchLabels": {"app": "set"}}, "template": template}
    named = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "set", "labels": queue}}
    return yaml.safe_dump_all([pod, {**named, "spec": of_set}])


def test_pods_of_a_group_and_of_a_set_lead_to_the_jobs_that_they_are_of(typed):
    typed("create", "-f", "-", program="kubectl", stdin=pods_of_all_kinds())
    waited = typed("wait", "--for=create", "pod/set-0", "--timeout=60s", program="kubectl")

    assert waited[0] == 0, waited
    (of_group,) = rows(typed("explain", "job", "Pod/g1", "-o", "json"))
    (of_set,) = rows(typed("explain", "job", "set-0", "-o", "json"))

    assert of_group["about"] == "Pod/grp of namespace default, to which Pod/g1 belongs"
    assert of_group["sentence"].startswith("1 of the 2 pods of its group are there")
    assert of_set["about"] == "StatefulSet/set of namespace default, to which Pod/set-0 belongs"
    assert of_set["cause"] != "NoQueue"


def test_ctrl_c_leaves_the_job_running_and_says_how_to_go_on(typed):
    process = typed.start("submit", "-f", "-", "--follow")
    process.stdin.write(job("long", 600))
    process.stdin.close()
    process.stdin = None
    assert any(" on cluster2" in line for line in iter(process.stdout.readline, ""))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "fleetqueue get jobs Job/long -n default -w" in err
    (row,) = json.loads(typed("get", "jobs", "long", "-o", "json")[1])
    assert (row["state"], row["clusters"], row["members"]) == ("Admitted", ["cluster2"], ["placement-demo2-cluster2"])


def test_a_drained_worker_takes_no_new_jobs_and_serves_again(typed):
    code, out, err = typed("drain", "cluster2", "-o", "json")
    (state,) = json.loads(out)
    waits = typed("submit", "-f", "-", stdin=job("waits", 1))
    undrained = typed("undrain", "cluster2")

    assert code == 0, err
    assert (state["changed"], state["tolerated_by"], state["dropped_by"]) == (True, [], [])
    assert waits[0] == 0
    assert undrained[1] == "cluster2 may serve again\n"
    assert typed("drain", "nope")[0] == 3


def test_who_watches_clusters_sees_that_one_is_drained(typed):
    process = typed.start("get", "clusters", "-w", "-o", "json")
    before = [json.loads(process.stdout.readline()) for _ in range(3)]
    typed("drain", "cluster3")
    changed = any(json.loads(line)["draining"] for line in iter(process.stdout.readline, ""))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    typed("undrain", "cluster3")

    assert [row["name"] for row in before] == ["cluster1", "cluster2", "cluster3"]
    assert not any(row["draining"] for row in before)
    assert changed
    assert process.returncode == 130


def test_a_worker_is_cut_off_and_healed(typed):
    cut = typed("cut", "cluster3", "--how", "hang")
    status = typed("status")
    healed = typed("heal", "cluster3")

    assert cut[1] == "cluster3 is cut off (hang); heal it with `fleetqueue heal cluster3`\n"
    assert "cut (hang)" in status[1]
    assert healed[1] == "cluster3 is reachable\n"
    assert typed("cut", "nope")[0] == 3


def test_a_part_of_an_embedded_fleet_is_stopped_in_another_way(typed):
    code, _, err = typed("pause", "cluster1/kueue")

    assert code == 1
    assert "scale deployment kueue-controller-manager --replicas=0" in err
    assert typed("resume", "nope/kueue")[0] == 3


def rows(answer):
    code, out, err = answer
    assert code == 0, err
    return json.loads(out)


def test_what_changes_a_hub_can_be_read_by_programs(typed):
    made = rows(typed("clusterset", "create", "more", "-o", "json"))
    moved = rows(typed("clusterset", "set", "more", "--clusters", "cluster3", "-o", "json"))
    bound = rows(typed("clusterset", "bind", "more", "-n", "default", "-o", "json"))
    again = rows(typed("clusterset", "bind", "more", "-n", "default", "-o", "json"))
    (installed,) = rows(typed("install", "-o", "json"))
    (change,) = rows(typed("uninstall", "--print", "-o", "json"))
    (left,) = rows(typed("unjoin", "cluster3", "-o", "json"))

    assert made == [{"set": "more", "cluster": "", "before": "", "namespace": "", "changed": True}]
    assert moved == [{"set": "more", "cluster": "cluster3", "before": "spoke", "namespace": "", "changed": True}]
    assert (bound[0]["namespace"], bound[0]["changed"], again[0]["changed"]) == ("default", True, False)
    assert installed["config_map"] == "kueue-system/kueue-manager-config"
    assert installed["dispatcher"] == "fleetqueue.dev/dispatcher"
    assert installed["said"][-1] == "Kueue leaves dispatching to fleetqueue already"
    assert not change["removed"]
    assert change["change"].startswith("---")
    assert (left["cluster"], left["forced"]) == ("cluster3", False)
    assert any("waiting until nothing of ours is left on it" in line for line in left["said"])


@pytest.fixture
def as_plugin(typed, monkeypatch):
    """Type commands of ours to kubectl, which finds the program beside the others of the package."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{typed.environ['PATH']}"
    monkeypatch.setitem(typed.environ, "PATH", path)
    return lambda *arguments: typed("fleetqueue", *arguments, program="kubectl")


def test_kubectl_runs_the_same_commands(typed, as_plugin):
    plugins = typed("plugin", "list", program="kubectl")
    usage = as_plugin("get", "jobs", "--help")
    clusters = as_plugin("get", "clusters", "-o", "json")
    missing = as_plugin("get", "jobs", "nope")

    assert "/kubectl-fleetqueue" in plugins[1], plugins[2]
    assert usage[1].startswith("Usage: kubectl fleetqueue get jobs ")
    assert [row["name"] for row in rows(clusters)] == [
        row["name"] for row in rows(typed("get", "clusters", "-o", "json"))
    ]
    assert missing == typed("get", "jobs", "nope")
    assert missing[0] == 3

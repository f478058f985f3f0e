"""Commands about jobs and workers, as typed, on an embedded fleet: submit, get, logs, drain, cut."""

import json
import os
import signal
import subprocess
import sys

import pytest
import yaml

from fleetqueue.manifests.texts import example_text

pytestmark = pytest.mark.timeout(300)
SETUP = ("placement-demo2-1", "multikueue-setup-demo2")


def listening() -> None:
    """Let Ctrl-C through also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Typed:
    """A person with a terminal: whatever is typed goes to one fleet."""

    def __init__(self, folder) -> None:
        self.environ = {**os.environ, "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
        self.environ.pop("KUBECONFIG", None)

    def start(self, *arguments, program="fleetqueue"):
        command = (sys.executable, "-m", "fleetqueue") if program == "fleetqueue" else (program,)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen((*command, *arguments), env=self.environ, text=True, preexec_fn=listening, **pipes)

    def __call__(self, *arguments, stdin="", **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(stdin, timeout=120)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    person = Typed(tmp_path_factory.mktemp("state"))
    code, _, err = person("up", "--scenario", "multikueue", "--detach", "--in-memory")
    assert code == 0, err
    try:
        person.environ["KUBECONFIG"] = person("kubeconfig", "--path")[1].strip()
        person("clusterset", "bind", "spoke", "--namespace", "kueue-system")
        person("label", "managedcluster", "cluster2", "accelerator=nvidia-tesla-t4", program="kubectl")
        person("apply", "-f", "-", program="kubectl", stdin="---\n".join(map(example_text, SETUP)))
        yield person
    finally:
        person("down", "--delete")


def job(name, seconds, fails=False):
    manifest = yaml.safe_load(example_text("job-demo2"))
    manifest["metadata"] |= {"name": name, "generateName": None}
    manifest["spec"]["backoffLimit"] = 0
    template = manifest["spec"]["template"]
    template["spec"]["containers"][0]["args"] = [f"{seconds}s"]
    template["metadata"] = {"annotations": {"fleetqueue.dev/fails": "true" if fails else "false"}}
    return yaml.safe_dump(manifest)


def test_a_job_is_followed_through_its_phases_to_its_end(typed):
    code, out, err = typed("submit", "-f", "-", "--follow", "-o", "json", stdin=job("good", 2))
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


def test_logs_are_read_on_the_worker_until_the_job_ends(typed):
    typed("submit", "-f", "-", stdin=job("talks", 30))

    code, out, err = typed("logs", "talks", "-f")

    assert code == 0, err
    assert [line.split("  ", 1)[1] for line in out.splitlines()][-2:] == ["ran for 30s", "ended with code 0"]


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

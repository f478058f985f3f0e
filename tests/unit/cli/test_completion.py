"""What a shell completes: commands, options, contexts and the clusters of a fleet."""

import pytest
import yaml


@pytest.fixture
def completed(fleetqueue, monkeypatch):
    """Complete what is typed, as bash asks for it; what is being typed is the last word."""

    def complete(*words):
        monkeypatch.setenv("_FLEETQUEUE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("fleetqueue", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        return fleetqueue().out.split()

    return complete


@pytest.fixture
def kubeconfig(tmp_path):
    path = tmp_path / "two.kubeconfig"
    contexts = [{"name": name, "context": {"cluster": name}} for name in ("hub", "cluster1")]
    path.write_text(yaml.safe_dump({"contexts": contexts}))
    return path


def test_commands_are_completed(completed):
    assert completed("clu") == ["clusterset"]
    assert completed("get", "clu") == ["clusters", "clustersets"]


def test_options_are_completed(completed):
    assert completed("up", "--de") == ["--detach"]


def test_contexts_of_the_named_kubeconfig_are_completed(completed, kubeconfig):
    assert completed("get", "jobs", "--kubeconfig", str(kubeconfig), "--context", "c") == ["cluster1"]
    assert completed("join", "x", "--hub-kubeconfig", str(kubeconfig), "--hub-context", "h") == ["hub"]


def test_contexts_of_the_usual_kubeconfig_are_completed(completed, kubeconfig, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))

    assert completed("get", "jobs", "--context", "") == ["hub", "cluster1"]


def test_without_a_kubeconfig_nothing_is_completed(completed, tmp_path):
    assert completed("get", "jobs", "--context", "c") == []
    assert completed("get", "jobs", "--kubeconfig", str(tmp_path / "none"), "--context", "c") == []


def test_clusters_of_the_fleet_are_completed(completed, tmp_path):
    for name in ("hub", "cluster1", "cluster2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kubeconfig").touch()

    assert completed("kubeconfig", "show", "--data-dir", str(tmp_path), "cl") == ["cluster1", "cluster2"]

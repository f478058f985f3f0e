"""The small Go modules that an engine is built from."""

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import parts
from fleetqueue.real.build import (
    build_with,
    chart_version,
    module_file,
    plan,
    required_version,
    write_module,
)
from fleetqueue.real.layout import Layout, planned


def test_a_module_requires_its_upstream():
    assert "require go.etcd.io/etcd/server/v3 v3.6.5\n" in module_file(parts.ETCD, "")


def test_kubernetes_staging_folders_become_published_modules():
    upstream = "replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/client-go => ./staging/src/x\n)\n"

    text = module_file(parts.KUBERNETES, upstream)

    assert "\tk8s.io/api => k8s.io/api v0.36.3\n" in text
    assert "\tk8s.io/client-go => k8s.io/client-go v0.36.3\n" in text


def test_the_version_of_kueues_sources_is_that_of_their_chart(tmp_path):
    assert chart_version(tmp_path) == ""

    chart = tmp_path / "charts" / "kueue" / "Chart.yaml"
    chart.parent.mkdir(parents=True)
    chart.write_text('version: 0.16.6\nappVersion: "v0.16.6"\n')

    assert chart_version(tmp_path) == "0.16.6"


def test_another_kubernetes_is_built_with_its_own_staging_modules():
    text = module_file(parts.kubernetes("1.34.3"), "\tk8s.io/api => ./staging/src/k8s.io/api\n")

    assert "require k8s.io/kubernetes v1.34.3\n" in text
    assert "\tk8s.io/api => k8s.io/api v0.34.3\n" in text


def test_a_module_is_built_from_sources_where_they_are_given(tmp_path):
    source = tmp_path / "kueue"
    source.mkdir()
    (source / "go.mod").write_text("module sigs.k8s.io/kueue\n")

    write_module(parts.KUEUE, source, tmp_path / "work", is_source=True)

    assert f"\nreplace sigs.k8s.io/kueue => {source}\n" in (tmp_path / "work" / "go.mod").read_text()


async def test_a_folder_without_sources_of_kueue_is_refused(tmp_path):
    with pytest.raises(EngineError, match="holds no sources of Kueue"):
        await build_with(print, kueue_source=tmp_path)


async def test_half_a_version_of_kubernetes_is_refused():
    with pytest.raises(EngineError, match=r'"1\.34" is no version of Kubernetes'):
        await build_with(print, kubernetes="1.34")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("require sigs.k8s.io/lws v0.9.0\n", id="alone"),
        pytest.param(
            "require (\n\tsigs.k8s.io/lws v0.9.0 // indirect\n\tsigs.k8s.io/lws/x v0.1.0\n)\n", id="among others"
        ),
    ],
)
def test_the_version_of_a_module_that_kueue_requires(text):
    assert required_version(text, "sigs.k8s.io/lws") == "v0.9.0"
    with pytest.raises(EngineError, match=r"requires no sigs\.k8s\.io/jobset"):
        required_version(text, "sigs.k8s.io/jobset")


def test_another_choice_of_job_kinds_builds_no_program_anew(monkeypatch, tmp_path):
    environ = {"FLEETQUEUE_CACHE": str(tmp_path)}
    fill(planned(environ))
    monkeypatch.setattr(parts, "JOB_CRDS", parts.JOB_CRDS[:-1])

    assert planned(environ).missing() == [planned(environ).job_crds.name]


def test_an_unknown_program_is_named(tmp_path):
    with pytest.raises(EngineError, match='no program "docker"'):
        Layout(tmp_path).binary("docker")


def test_the_plan_says_what_and_how_long(tmp_path):
    text = plan(Layout(tmp_path), ["kube-apiserver", "kueue.json"])

    assert "kube-apiserver, kueue.json" in text
    assert "about 3 minutes" in text


def fill(layout):
    for path in [*(layout.binary(binary.name) for binary in parts.binaries()), *layout.manifests]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

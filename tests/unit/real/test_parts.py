"""The pinned table, and the small Go modules that are made from it."""

import re
from pathlib import Path

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import parts
from fleetqueue.real.build import (
    build_with,
    chart_version,
    link_others,
    module_file,
    own,
    plan,
    required_version,
    write_module,
)
from fleetqueue.real.layout import EngineVersions, Layout, cache_dir, find, planned, planned_with, require
from fleetqueue.real.toolchain import clean_environment, parse_version, tail


def test_every_version_is_exact():
    pinned = [project.version for project in parts.PROJECTS] + [source.version for source in parts.OCM_CRDS]

    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", version) for version in pinned)


def test_no_two_programs_share_a_name():
    names = [binary.name for binary in parts.binaries()]

    assert len(names) == len(set(names))


def test_the_key_names_the_versions_and_changes_with_them(monkeypatch):
    before = parts.key()
    monkeypatch.setattr(parts, "PROJECTS", parts.PROJECTS[:-1])

    assert before.startswith("k8s-1.36.3-kueue-0.19.2-ocm-1.2.1-")
    assert parts.key() != before


def test_a_module_requires_its_upstream():
    assert "require go.etcd.io/etcd/server/v3 v3.6.5\n" in module_file(parts.ETCD, "")


def test_kubernetes_staging_folders_become_published_modules():
    upstream = "replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/client-go => ./staging/src/x\n)\n"

    text = module_file(parts.KUBERNETES, upstream)

    assert "\tk8s.io/api => k8s.io/api v0.36.3\n" in text
    assert "\tk8s.io/client-go => k8s.io/client-go v0.36.3\n" in text


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"FLEETQUEUE_CACHE": "/c"}, "/c", id="ours is taken as it is"),
        pytest.param({"XDG_CACHE_HOME": "/x"}, "/x/fleetqueue/engine", id="the user's cache folder"),
        pytest.param({"FLEETQUEUE_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c", id="ours wins"),
    ],
)
def test_where_the_cache_is(environ, expected):
    assert str(cache_dir(environ)) == expected


def test_an_engine_with_a_missing_program_is_not_found(tmp_path):
    environ = {"FLEETQUEUE_CACHE": str(tmp_path)}
    fill(planned(environ))
    planned(environ).binary("kwok").unlink()

    assert find(environ) is None
    with pytest.raises(EngineError, match=r"lacks kwok; run `fleetqueue engine build`"):
        require(environ)


def test_a_whole_engine_is_found(tmp_path):
    environ = {"FLEETQUEUE_CACHE": str(tmp_path)}
    fill(planned(environ))

    assert find(environ) == planned(environ)


def test_another_engine_is_used_where_it_is_named(tmp_path):
    environ = {"FLEETQUEUE_CACHE": str(tmp_path / "cache"), "FLEETQUEUE_ENGINE": str(tmp_path / "other")}

    with pytest.raises(EngineError, match=r"lacks .*; FLEETQUEUE_ENGINE names it"):
        require(environ)
    fill(Layout(tmp_path / "other"))

    assert find(environ) == Layout(tmp_path / "other")
    assert planned(environ) != find(environ)


def test_an_engine_with_other_versions_has_a_folder_that_says_so(tmp_path):
    environ = {"FLEETQUEUE_CACHE": str(tmp_path)}

    one = planned_with(Path("/src/kueue@v0.18.4"), environ=environ).root
    other = planned_with(Path("/elsewhere/kueue@v0.18.4"), environ=environ).root
    older = planned_with(kubernetes="1.34.3", environ=environ).root
    both = planned_with(Path("/src/kueue@v0.18.4"), "1.34.3", environ).root

    assert one.name.startswith(f"{parts.key()}-kueue-from-kueue-v0.18.4-")
    assert older.name == f"{parts.key()}-with-k8s-1.34.3"
    assert both.name.startswith(f"{older.name}-kueue-from-kueue-v0.18.4-")
    assert len({one, other, older, both, planned(environ).root}) == 5


@pytest.mark.parametrize(
    ("kueue", "kubernetes", "expected"),
    [
        pytest.param(True, False, {"kueue", "kueue.json", "job-crds"}, id="another Kueue"),
        pytest.param(
            False, True, {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"}, id="Kubernetes"
        ),
    ],
)
def test_an_engine_with_other_versions_has_the_rest_from_the_pinned_one(tmp_path, kueue, kubernetes, expected):
    pinned, layout = Layout(tmp_path / "pinned"), Layout(tmp_path / "other")
    fill(pinned)
    layout.root.mkdir()

    link_others(layout, pinned, own(layout, kueue=kueue, kubernetes=kubernetes))

    assert {name.removesuffix(f"-{parts.job_crds_key()}.json") for name in layout.missing()} == expected
    assert layout.binary("etcd").resolve() == pinned.binary("etcd")


def test_an_engine_says_its_versions(tmp_path):
    layout = Layout(tmp_path)
    assert layout.versions() == EngineVersions(parts.KUBERNETES_VERSION, parts.KUEUE_VERSION)

    layout.versions_file.write_text('{"kubernetes": "1.34.3", "kueue": "0.16.6"}')

    assert layout.versions() == EngineVersions("1.34.3", "0.16.6")


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("go version go1.26.8 linux/amd64", (1, 26), id="a release"),
        pytest.param("go version go1.27rc1 linux/amd64", (1, 27), id="a candidate"),
        pytest.param("gcc 13", (0, 0), id="something else"),
    ],
)
def test_go_versions(text, expected):
    assert parse_version(text) == expected


def test_the_users_go_settings_do_not_reach_the_build():
    environ = clean_environment({"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOPROXY": "https://p", "HOME": "/h"})

    assert environ["GOFLAGS"] == "-mod=mod -buildvcs=false"
    assert "GOOS" not in environ
    assert (environ["GOPROXY"], environ["HOME"]) == ("https://p", "/h")


def test_the_tail_of_an_output():
    assert tail(b"\n".join(b"%d" % number for number in range(100))).splitlines()[0] == "75"


def fill(layout):
    for path in [*(layout.binary(binary.name) for binary in parts.binaries()), *layout.manifests]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

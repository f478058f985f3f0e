"""Where an engine is, and which versions it has."""

from pathlib import Path

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import parts
from fleetqueue.real.build import (
    link_others,
    own,
)
from fleetqueue.real.layout import EngineVersions, Layout, cache_dir, find, planned, planned_with, require


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


def fill(layout):
    for path in [*(layout.binary(binary.name) for binary in parts.binaries()), *layout.manifests]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

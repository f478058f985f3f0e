"""A fleet with our parts in it: what it is told, and what it must never delete."""

from pathlib import Path

import pytest

from fleetqueue.assembly.lab import LabSettings, refuse_foreign
from fleetqueue.assembly.parts import PROBES
from fleetqueue.assembly.scenario import QUEUE_NAMES, queues_for_all
from fleetqueue.engine.errors import EngineError


def test_every_cluster_has_a_port_for_our_part():
    settings = LabSettings(workers=2)

    assert all(PROBES in settings.ports(cluster) for cluster in ("hub", "cluster1", "cluster2"))


@pytest.mark.parametrize(
    ("files", "is_fleet"),
    [
        pytest.param([], True, id="an empty folder"),
        pytest.param(["fleet.json", "kubeconfig"], True, id="a fleet"),
        pytest.param(["lock", "supervisor.log"], True, id="a fleet that never started"),
        pytest.param(["thesis.txt"], False, id="somebody's work"),
        pytest.param(["lock", "thesis.txt"], False, id="somebody's work, where a fleet was tried"),
    ],
)
def test_only_the_folder_of_a_fleet_is_ever_deleted(tmp_path: Path, files, is_fleet):
    for name in files:
        (tmp_path / name).touch()

    if is_fleet:
        refuse_foreign(tmp_path)
    else:
        with pytest.raises(EngineError, match="is not the folder of a fleet"):
            refuse_foreign(tmp_path)


def test_a_folder_that_is_not_there_is_fine(tmp_path: Path):
    refuse_foreign(tmp_path / "new")


def test_ocm_is_asked_to_bring_the_queues_of_the_example():
    work = queues_for_all()

    manifests = work["spec"]["manifestWorkTemplate"]["workload"]["manifests"]
    assert [m["metadata"]["name"] for m in manifests if m["kind"] == "LocalQueue"] == list(QUEUE_NAMES)
    assert work["spec"]["placementRefs"][0]["name"] == "placement-spoke"

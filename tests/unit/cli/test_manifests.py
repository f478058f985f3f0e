"""`manifests` and `examples`: what is printed can be applied, and what is written is the whole of it."""

from pathlib import Path

import pytest
import yaml

from fleetqueue import __version__
from fleetqueue.cli.manifests import ManifestPart
from fleetqueue.manifests.texts import PARTS

ROOT = Path(__file__).parents[3]


def kinds(text):
    return [document["kind"] for document in yaml.safe_load_all(text)]


def images(text):
    return [line.split()[-1].strip('"') for line in text.splitlines() if line.strip().startswith("image: ")]


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_controller_is_printed_in_an_order_in_which_it_can_be_applied(fleetqueue):
    result = fleetqueue("manifests")

    assert result.code == 0
    assert kinds(result.out)[0] == "Namespace"
    assert kinds(result.out)[-1] == "Deployment"
    assert images(result.out) == [f"fleetqueue:{__version__}"]


@pytest.mark.parametrize("part", ["controller", "add-on"])
def test_another_image_can_be_named(fleetqueue, part):
    result = fleetqueue("manifests", part, "--image", "registry.example.com/fleetqueue:1.0")

    assert images(result.out) == ["registry.example.com/fleetqueue:1.0"]


@pytest.mark.parametrize("part", ["worker-agent", "token-reader"])
def test_what_is_for_one_cluster_is_told_its_name(fleetqueue, part):
    without, named = fleetqueue("manifests", part), fleetqueue("manifests", part, "--cluster", "cluster1")

    assert without.code == 2
    assert "--cluster" in without.err
    assert "CLUSTER" not in named.out
    assert "cluster1" in named.out


@pytest.mark.parametrize("name", ["x y", "X", "-x", "x.y", "a" * 64, "x\n"])
def test_what_cannot_be_the_name_of_a_cluster_is_refused(fleetqueue, name):
    result = fleetqueue("manifests", "token-reader", f"--cluster={name}")

    assert (result.code, result.out) == (2, "")
    assert "cannot be the name of a cluster" in result.err


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_yaml(fleetqueue, part):
    result = fleetqueue("manifests", part, "--cluster", "cluster1")

    assert all(kinds(result.out))


def test_every_part_has_a_name():
    assert [part.value for part in ManifestPart] == list(PARTS)


def test_the_chart_and_all_manifests_are_written(fleetqueue, tmp_path):
    result = fleetqueue("manifests", "-o", str(tmp_path / "new"))

    shipped = {path for path in files(ROOT / "deploy") if not path.startswith("Dockerfile")}
    assert files(tmp_path / "new") == shipped
    assert set(result.out.split()) == {str(tmp_path / "new" / path) for path in shipped}
    assert "charts/fleetqueue/Chart.yaml" in shipped


def test_examples_are_listed_with_what_they_are_for(fleetqueue):
    result = fleetqueue("examples")

    assert {line.split()[0] for line in result.out.splitlines()} == files(ROOT / "examples")
    assert all(len(line.split()) > 5 for line in result.out.splitlines())


def test_examples_are_printed_one_after_the_other(fleetqueue):
    result = fleetqueue("examples", "placement-demo2-1", "job-demo2.yaml")

    assert kinds(result.out)[0] == "Placement"
    assert kinds(result.out)[-1] == "Job"


def test_an_unknown_example_names_the_known_ones(fleetqueue):
    result = fleetqueue("examples", "job-demo9")

    assert result.code == 2
    assert result.err.startswith('error: there is no example "job-demo9.yaml"; there are ')
    assert "job-demo1.yaml" in result.err


def test_examples_are_written(fleetqueue, tmp_path):
    fleetqueue("examples", "-o", str(tmp_path))

    assert files(tmp_path) == files(ROOT / "examples")


def test_in_a_checkout_they_stay_as_they_are(fleetqueue, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "examples").iterdir()}

    result = fleetqueue("examples", "-o", str(tmp_path / "examples"))

    assert result.code == 0
    assert {path: path.stat().st_mtime_ns for path in (ROOT / "examples").iterdir()} == before


@pytest.mark.parametrize("command", [("manifests", "--image", "x:1"), ("examples", "job-demo1")])
def test_what_is_written_to_a_folder_is_written_as_it_is(fleetqueue, tmp_path, command):
    assert fleetqueue(*command, "-o", str(tmp_path)).code == 2
    assert files(tmp_path) == set()

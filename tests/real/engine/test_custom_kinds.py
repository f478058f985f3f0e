"""The definitions that travel with the package against the Go modules' own, and on a real API server."""

import importlib.util
import json
import zlib
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from fleetqueue.lab import ports
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.processes import Processes
from fleetqueue.manifests.custom_kinds import SYSTEMS, crds
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.control_plane import PORTS, etcd, kube_apiserver

TOOLS = Path(__file__).parents[3] / "tools"


pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WORDS = {"description", "title", "example", "externalDocs"}
"""What only people read."""
CLUSTER_PERMISSION = "open-cluster-management.io/cluster-permission@v0.17.0"


@pytest.fixture(scope="module")
def generator(module):
    """The program that writes the file, as a module; what it needs is at hand."""
    spec = importlib.util.spec_from_file_location("generate_custom_kinds", TOOLS / "generate_custom_kinds.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    for sources in found.SYSTEMS.values():
        for source in sources:
            module(source.query)
    return found


@pytest.fixture(scope="module")
def upstream(generator, module):
    """Return the definitions that the modules carry for a system, by name."""

    def find(system):
        files = [
            file
            for source in generator.SYSTEMS[system]
            for pattern in source.files
            for file in module(source.query).glob(pattern)
        ]
        found = [crd for file in files for crd in yaml.load_all(file.read_text(), yaml.CSafeLoader) if crd]
        return {crd["metadata"]["name"]: crd for crd in found}

    return find


def test_the_file_is_what_its_generator_writes(generator):
    committed = json.loads(zlib.decompress(generator.TARGET.read_bytes()))

    assert generator.custom_kinds() == committed


@pytest.mark.parametrize("system", [system for system in SYSTEMS if system != "cluster-permission"])
def test_definitions_say_what_those_of_the_modules_say(system, upstream, generator):
    theirs = upstream(system)
    ours = {crd["metadata"]["name"]: crd for crd in crds(system)}

    assert set(ours) == set(theirs)
    assert [difference for name in theirs for difference in differences(ours[name], theirs[name], generator)] == []


def test_the_definition_that_was_written_by_hand_says_what_its_module_says(module, generator):
    folder = module(CLUSTER_PERMISSION) / "config" / "crds"
    [theirs] = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in folder.glob("*_clusterpermissions.yaml")]
    [ours] = crds("cluster-permission")

    assert list(differences(ours, theirs, generator)) == []


def differences(ours, theirs, generator):
    """Yield where a definition differs from upstream's, apart from old versions that we add."""
    name = theirs["metadata"]["name"]
    added = {old.name for old in generator.OLD_VERSIONS if old.definition == name}
    for part in ("group", "names", "scope"):
        yield from unequal(ours["spec"][part], theirs["spec"][part], f"{name} {part}")
    mine = {version["name"]: version for version in ours["spec"]["versions"]}
    given = {version["name"]: version for version in theirs["spec"]["versions"]}
    yield from unequal(set(mine), {*given, *added}, f"{name} versions")
    for version in given:
        yield from unequal(mine[version], given[version], f"{name} {version}")


def unequal(ours, theirs, path, are_fields=False):
    """Yield the places where two JSON values differ, apart from what only people read; fields may have any name."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        theirs = theirs if are_fields else {key: theirs[key] for key in theirs if key not in WORDS}
        for key in sorted({*ours, *theirs}):
            if key in ours and key in theirs:
                yield from unequal(ours[key], theirs[key], f"{path}.{key}", key == "properties" and not are_fields)
            else:
                yield f"{path}.{key} is only {'ours' if key in ours else 'theirs'}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (mine, given) in enumerate(zip(ours, theirs, strict=True)):
            yield from unequal(mine, given, f"{path}[{place}]")
    elif ours != theirs:
        yield f"{path}: {ours!r} is {theirs!r} upstream"


@asynccontextmanager
async def real_server(layout, folder):
    """An API server with its etcd, and nothing else."""
    cluster = RealCluster("kinds", folder / "kinds", ports.assign(PORTS, {}), layout)
    processes = Processes(folder / "processes.json")
    cluster.folder.mkdir(mode=0o700)
    ensure_pki(cluster.name, cluster.pki)
    try:
        processes.start(etcd(cluster, fsync=False))
        await processes.up(kube_apiserver(cluster))
        async with cluster.api() as api:
            yield api
    finally:
        await processes.stop_all()


async def test_a_real_server_establishes_all_of_them_and_keeps_them_as_they_are(layout, tmp_path):
    definitions = [crd for system in SYSTEMS for crd in crds(system)]

    async with real_server(layout, tmp_path) as api:
        for crd in definitions:
            code, answer = await api.request("POST", DEFINITIONS, crd)
            assert code == 201, answer
        await api.wait_served(definitions)
        found = {crd["metadata"]["name"]: crd for crd in (await api.get(DEFINITIONS))["items"]}

    assert [name for name, crd in found.items() if not is_well(crd)] == []
    assert {name: crd["spec"] for name, crd in found.items()} == {
        crd["metadata"]["name"]: crd["spec"] for crd in definitions
    }


def is_well(crd):
    """Tell whether the server found nothing to say against a definition."""
    conditions = {condition["type"]: condition["status"] for condition in crd["status"]["conditions"]}
    wanted = {"NamesAccepted": "True", "Established": "True"}
    return conditions in (wanted, wanted | {"KubernetesAPIApprovalPolicyConformant": "True"})

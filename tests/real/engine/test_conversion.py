"""Our conversions between versions against those of Kueue and OCM themselves, on generated objects."""

import os
import shutil
import subprocess
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings

from fleetqueue.embedded.apiserver.registry.conversion import KindVersions, only_renamed
from fleetqueue.embedded.apiserver.validation.structural_schema import build
from fleetqueue.embedded.kueue import versions as kueue_versions
from fleetqueue.manifests import ocm_versions
from fleetqueue.real import parts
from fleetqueue.real.build import write_module
from fleetqueue.real.toolchain import clean_environment
from tests.unit.manifests.generated_objects import objects, versions

# From an empty Go cache, building the programs takes minutes.
pytestmark = [pytest.mark.records, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent / "conversion"
EXAMPLES = 150
KUEUE, ADDON = "kueue.x-k8s.io", "addon.open-cluster-management.io"
CONVERTERS = {**kueue_versions.CONVERTERS, **ocm_versions.CONVERTERS}
EMPTY = (None, "", 0, False, "0", "0s")


@pytest.fixture(scope="module")
def upstream(module, tmp_path_factory):
    """Return what upstream's program makes of objects: `upstream(parts.KUEUE, objects)`."""
    programs = {}

    def program(project):
        folder = tmp_path_factory.mktemp(project.name)
        write_module(project, module(project.query), folder)
        for source in (HERE / "main.go", HERE / project.name / "kinds.go"):
            shutil.copy(source, folder)
        command = ["go", "build", "-o", "convert", "."]
        subprocess.run(command, cwd=folder, env=clean_environment(dict(os.environ)), check=True)
        return folder / "convert"

    def convert(project, made):
        if project.name not in programs:
            programs[project.name] = program(project)
        lines = b"\n".join(map(orjson.dumps, made))
        answer = subprocess.run([programs[project.name]], input=lines, stdout=subprocess.PIPE, check=True).stdout
        return list(map(orjson.loads, answer.splitlines()))

    return convert


@pytest.mark.parametrize(
    ("project", "system", "group", "kind", "old", "new"),
    [
        *(
            pytest.param(parts.KUEUE, "kueue", KUEUE, kind, "v1beta1", "v1beta2", id=kind)
            for kind in ("ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload")
        ),
        *(
            pytest.param(parts.OCM, "ocm-hub", ADDON, kind, "v1alpha1", "v1beta1", id=kind)
            for kind in ("ClusterManagementAddOn", "ManagedClusterAddOn")
        ),
    ],
)
def test_objects_become_what_upstream_makes_of_them(upstream, project, system, group, kind, old, new):
    schemas = {version: build(openapi).schema for version, openapi in versions(system, kind).items()}
    faces = KindVersions(group, old, schemas, schemas, CONVERTERS.get((group, kind), only_renamed))
    for version, wanted in ((old, new), (new, old)):
        made = generated(objects(system, kind, version))

        theirs = upstream(project, made)

        pairs = [(faces.show(obj, wanted), found) for obj, found in zip(made, theirs, strict=True) if found is not None]
        assert len(pairs) > EXAMPLES // 2
        assert [difference for pair in pairs for difference in differences(*pair, "")] == []


def generated(strategy):
    found = []

    @settings(max_examples=EXAMPLES, database=None, deadline=None)
    @given(strategy)
    def collect(obj):
        found.append(obj)

    collect()
    return found


def differences(ours, theirs, path):
    """Yield where two objects differ; an empty value that only one of them has is none, and Go forgets the kind."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs} - ({"apiVersion", "kind"} if not path else set())):
            if name in ours and name in theirs:
                yield from differences(ours[name], theirs[name], f"{path}.{name}")
            elif not is_empty((ours | theirs)[name]):
                yield f"{path}.{name} is only {'ours' if name in ours else 'theirs'}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (mine, given_) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(mine, given_, f"{path}[{place}]")
    elif ours != theirs and not (is_empty(ours) and is_empty(theirs)):
        yield f"{path}: {ours!r} is {theirs!r} upstream"


def is_empty(value):
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value == [] or value in EMPTY

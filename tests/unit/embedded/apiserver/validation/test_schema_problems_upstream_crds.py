"""The CRDs of Kueue and OCM, read from the Go module cache: every schema and every rule must be usable.

Nothing of them is kept here; where the cache lacks them, the tests are skipped.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

from fleetqueue.embedded.apiserver.validation.schema_problems import schema_problems
from fleetqueue.embedded.apiserver.validation.structural_schema import build

FOLDERS = (
    "sigs.k8s.io/kueue@v0.19.2/config/components/crd/bases",
    "open-cluster-management.io/api@v1.2.0",
    "open-cluster-management.io/ocm@v1.2.1/manifests",
)


@cache
def module_cache() -> Path | None:
    """Where Go keeps its modules, if there is a Go."""
    named = os.environ.get("GOMODCACHE")
    if not named and shutil.which("go"):
        named = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(named) if named else None


def crds(folder):
    root = module_cache()
    if root is None or not (root / folder).is_dir():
        pytest.skip(f"the Go module cache has no {folder}")
    for path in sorted((root / folder).rglob("*.yaml")):
        text = path.read_text()
        if "kind: CustomResourceDefinition" in text and "{{" not in text:
            yield from (crd for crd in yaml.load_all(text, yaml.CSafeLoader) if crd)


def rules_in(schema):
    below = [*schema.properties.values(), *(child for child in (schema.values, schema.items) if child)]
    return len(schema.rules.get("x-kubernetes-validations") or ()) + sum(map(rules_in, below))


def compiled_in(node):
    below = [*node.fields.values(), *(child for child in (node.items, node.values) if child)] if node else []
    return (len(node.rules) if node else 0) + sum(map(compiled_in, below))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_schema_is_accepted_and_every_rule_is_compiled(folder):
    schemas = 0
    for crd in crds(folder):
        for version in crd["spec"]["versions"]:
            openapi = version["schema"]["openAPIV3Schema"]
            where = f"{crd['metadata']['name']} {version['name']}"

            assert schema_problems(openapi, where, has_status="status" in version.get("subresources", {})) == [], where
            assert compiled_in(build(openapi).rules) == rules_in(build(openapi).schema), where
            schemas += 1
    assert schemas

"""The CRDs of Kueue and OCM, read from the Go module cache: every schema and every rule must be usable."""

import pytest
import yaml

from fleetqueue.embedded.apiserver.validation.schema_problems import schema_problems
from fleetqueue.embedded.apiserver.validation.structural_schema import build
from tests import go_modules

FOLDERS = (
    "sigs.k8s.io/kueue@v0.19.2/config/components/crd/bases",
    "open-cluster-management.io/api@v1.2.0",
    "open-cluster-management.io/ocm@v1.2.1/manifests",
)


def crds(folder):
    for path in sorted(go_modules.folder(folder).rglob("*.yaml")):
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

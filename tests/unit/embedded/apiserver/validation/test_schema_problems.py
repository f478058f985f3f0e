"""Schemas that a CRD may not have, against what the validation packages of kube-apiserver 1.36.3 say about them."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.validation.schema_problems import schema_problems

PATH = "spec.versions[0].schema.openAPIV3Schema"
CASES = json.loads(Path(__file__).with_name("refused_schemas.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["schema"])[:120])
def test_a_schema_has_the_problems_that_the_real_server_finds(case):
    found = schema_problems(case["schema"], PATH, has_status=True)

    told = [list(cause) for cause in found if "fields are allowed at the root" not in cause.message]
    assert sorted(told) == sorted(case["causes"])


def test_with_a_status_subresource_the_root_may_only_hold_what_does_not_reach_into_status():
    schema = {"type": "object", "anyOf": [{"required": ["spec"]}], "properties": {"spec": {"type": "object"}}}

    assert schema_problems(schema, PATH) == []
    (cause,) = schema_problems(schema, PATH, has_status=True)
    assert cause.message.endswith("are allowed at the root of the schema if the status subresource is enabled")

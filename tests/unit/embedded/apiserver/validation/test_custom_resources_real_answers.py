"""Faults of custom objects, against those that the packages of kube-apiserver 1.36.3 find in the same objects.

Go visits fields in random order, so the order of faults is compared only where there is one at a time.
"""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.validation.custom_resources import validate
from fleetqueue.embedded.apiserver.validation.structural_schema import build

REAL = json.loads(Path(__file__).with_name("real_answers.json").read_text())


def whole(part):
    """Put an object around its parts."""
    metadata = {"name": "n", **part.get("metadata", {})}
    return {"apiVersion": "t.io/v1", "kind": "Foo", **part, "metadata": metadata}


def shown(case):
    return json.dumps(case["object"])[:100]


@pytest.fixture(scope="module")
def custom():
    return build(REAL["schema"])


@pytest.mark.parametrize("case", REAL["created"], ids=shown)
def test_a_new_object_has_the_faults_that_the_real_server_finds(custom, case):
    found = validate(whole(case["object"]), custom)

    assert sorted(map(list, found)) == sorted(case["causes"])


@pytest.mark.parametrize("case", REAL["updated"], ids=shown)
def test_an_update_has_the_faults_that_the_real_server_finds(custom, case):
    found = validate(whole(case["object"]), custom, whole(case["old"]))

    assert sorted(map(list, found)) == sorted(case["causes"])


@pytest.mark.parametrize("case", REAL["unchanged"], ids=shown)
def test_an_update_that_changes_nothing_has_the_faults_that_the_real_server_finds(custom, case):
    found = validate(whole(case["object"]), custom, whole(case["object"]))

    assert sorted(map(list, found)) == sorted(case["causes"])

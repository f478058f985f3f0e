"""Objects that Go wrote are in order for us: nothing of them is changed."""

import json
import subprocess
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.kinds.normalising import normalised
from fleetqueue.embedded.apiserver.kinds.table import type_of

TOOLS = Path(__file__).parents[3] / "tools"


# From an empty Go cache, building the programs takes minutes.
pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]


def test_objects_that_go_wrote_are_in_order(module):
    folder = module("k8s.io/api@v0.36.3") / "testdata" / "HEAD"
    objects = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    typed = [obj for obj in objects if "kind" in obj]

    wrong = [(obj["apiVersion"], obj["kind"]) for obj in typed if not is_in_order(obj)]

    assert len(typed) > 180
    assert wrong == []


def test_random_objects_that_go_wrote_are_in_order(module):
    module("k8s.io/client-go@v0.36.3")
    command = ["go", "run", "./samples", "9", "1"]
    lines = subprocess.run(command, cwd=Path(TOOLS) / "facts", stdout=subprocess.PIPE, check=True).stdout.splitlines()
    samples = [json.loads(line.decode(errors="replace")) for line in lines]
    whole = [sample["object"] for sample in samples if not sample["damaged"]]
    objects = [obj for obj in whole if "kind" in obj]

    wrong = [(obj["apiVersion"], obj["kind"]) for obj in objects if not is_in_order(obj)]

    assert len(objects) > 3000
    assert wrong == []


def is_in_order(obj):
    """Tell whether nothing is changed; a pointer to no time, which only protobuf has, is null and so is nothing."""
    group, _, version = obj["apiVersion"].rpartition("/")
    after, unknown = normalised(obj, type_name=type_of(group, version, obj["kind"]))
    return without_nulls(after) == without_nulls(obj) and not unknown


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value

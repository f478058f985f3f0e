"""Patches of all sorts but apply, against what the packages of kube-apiserver 1.36.3 make of the same objects."""

import copy
import json
from pathlib import Path

import pytest

from fleetqueue.api.errors import ApiError
from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.patching.json_patch import apply_json_patch
from fleetqueue.embedded.apiserver.patching.merge_patch import apply_merge_patch
from fleetqueue.embedded.apiserver.patching.strategic_merge import apply_strategic_merge

CASES = json.loads(Path(__file__).with_name("real_patches.json").read_text())
NOT_TOLD = 422
"""The answer to a patch that does not fit; the server does not hand on what its packages say about it."""


def outcome(case):
    try:
        if case["sort"] == "json":
            return {"result": apply_json_patch(case["object"], case["patch"])}
        if case["sort"] == "merge":
            return {"result": apply_merge_patch(case["object"], case["patch"])}
        schema = facts.schema("apps" if case["kind"] == "Deployment" else "", "v1", case["kind"])
        return {"result": apply_strategic_merge(case["object"], case["patch"], schema)}
    except ApiError as error:
        return {"code": error.code} | ({} if error.code == NOT_TOLD else {"error": error.message})


def told(case, name):
    return name in case and not (name == "error" and case["code"] == NOT_TOLD)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['sort']} {json.dumps(case['patch'])[:80]}")
def test_a_patch_ends_as_on_the_real_server(case):
    before = copy.deepcopy(case["object"])

    found = outcome(case)

    assert found == {name: case[name] for name in ("result", "code", "error") if told(case, name)}
    assert case["object"] == before

"""Every step of `cases.yaml`, done by us to what the real server had stored, ends as it did there."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from fleetqueue.api.errors import ApiError
from fleetqueue.apiserver.patching.apply import apply
from fleetqueue.apiserver.patching.json_patch import apply_json_patch
from fleetqueue.apiserver.patching.managed_fields import update_managed_fields, without_entries
from fleetqueue.apiserver.patching.merge_patch import apply_merge_patch
from fleetqueue.apiserver.patching.strategic_merge import apply_strategic_merge

HERE = Path(__file__).parent
CASES = {case["name"]: case for case in yaml.safe_load((HERE / "cases.yaml").read_text())}
RECORDED = orjson.loads((HERE / "recorded.json").read_bytes())
VERBS = ("create", "update", "merge", "json", "strategic", "apply")

# What defaulting, allocation and strategies set beside patches: not decided here, so it may be there in addition.
FROM_ELSEWHERE = {
    *("uid", "resourceVersion", "generation", "creationTimestamp", "namespace", "managedFields", "status", "phase"),
    *("qosClass", "observedGeneration", "protocol", "targetPort", "imagePullPolicy", "terminationMessagePath"),
    *("terminationMessagePolicy", "resources", "restartPolicy", "dnsPolicy", "terminationGracePeriodSeconds"),
    *("schedulerName", "securityContext", "enableServiceLinks", "preemptionPolicy", "priority", "serviceAccount"),
    *("serviceAccountName", "tolerations", "replicas", "strategy", "rollingUpdate", "revisionHistoryLimit"),
    *("progressDeadlineSeconds", "type", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
    *("sessionAffinity", "internalTrafficPolicy", "defaultMode", "lastProbeTime", "lastTransitionTime", "strategy"),
}
# Set after the owners are recorded: by admission, allocation and the strategy of the kind.
LATE = {
    "Pod": ("serviceAccount", "serviceAccountName", "tolerations", "priority", "preemptionPolicy"),
    "Service": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"),
}
# Refused by what comes after the patch.
BY_VALIDATION = ("is invalid: ",)

STEPS = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name, case in CASES.items()
    for number in range(len(case["steps"]))
]


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_a_step_ends_as_on_the_real_server(kinds, name, number):
    case, answers = CASES[name], RECORDED[name]
    step, answer = case["steps"][number], answers[number]
    live = next((each["body"] for each in reversed(answers[:number]) if each["code"] < 300), None)
    before = orjson.dumps(live)

    outcome = done(case["kind"], kinds[case["kind"]], live, step, answer)

    assert orjson.dumps(live) == before, "the stored object was changed in place"
    if answer["code"] < 300:
        assert untimed(outcome, case["kind"]) == untimed(answer["body"], case["kind"])
        assert list(differences(outcome, answer["body"])) == []
    elif not any(text in answer["body"]["message"] for text in BY_VALIDATION):
        assert isinstance(outcome, ApiError), outcome
        assert outcome.code == answer["code"]
        assert outcome.reason == answer["body"].get("reason", "")
        assert sorted(outcome.message.split("\n")) == sorted(answer["body"]["message"].split("\n"))
        assert in_order(outcome.details) == in_order(answer["body"].get("details", {}))


def done(kind: str, known: Any, live: Any, step: dict[str, Any], answer: dict[str, Any]) -> Any:
    """Do a step as the registry will; for its owners with the object that the real server made of it."""
    verb = next(verb for verb in VERBS if verb in step)
    body = step[verb]
    subresource = "status" if step.get("status") else ""
    place = {
        "schema": known.schema,
        "manager": step["as"],
        "api_version": known.api_version,
        "subresource": subresource,
        "now": now_of(answer),
        "reset": known.status_reset if subresource else known.reset,
    }
    try:
        if verb == "apply":
            applied = whole(kind, known, body)
            return reset(live, apply(live, applied, **place, kind=kind, force=step.get("force", False)), subresource)
        if verb in ("create", "update"):
            new = whole(kind, known, body)
        else:
            new = patched(verb, live, body, known)
    except ApiError as error:
        return error
    if answer["code"] >= 300:
        return new
    assert list(differences(reset(live, new, subresource), answer["body"])) == []
    return update_managed_fields(live, finished(kind, live, new, answer), **place)


def patched(verb: str, live: Any, body: Any, known: Any) -> Any:
    if verb == "json":
        return apply_json_patch(live, body)
    if verb == "merge":
        return apply_merge_patch(live, body)
    return apply_strategic_merge(live, body, known.schema)


def whole(kind: str, known: Any, body: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "x", **body.get("metadata", {})}
    return {"apiVersion": known.api_version, "kind": kind, **body, "metadata": metadata}


def finished(kind: str, live: Any, new: Any, answer: dict[str, Any]) -> dict[str, Any]:
    """The object with its defaults, as it is when owners are recorded: managedFields are those that were sent."""
    result = without_entries(answer["body"])
    if live is None and kind in LATE:
        result = {**result, "spec": {name: v for name, v in result["spec"].items() if name not in LATE[kind]}}
    sent = new["metadata"].get("managedFields")
    return result if sent is None else {**result, "metadata": {**result["metadata"], "managedFields": sent}}


def reset(live: Any, new: dict[str, Any], subresource: str) -> dict[str, Any]:
    """What the endpoint lets through: everything but status, or (nearly) only status."""
    old = live or {}
    kept = {name: value for name, value in (old if subresource else new).items() if name != "status"}
    status = (new if subresource else old).get("status")
    metadata = (
        new["metadata"]
        if not subresource
        else {**old["metadata"], "managedFields": new["metadata"].get("managedFields")}
    )
    if subresource and new["kind"] == "Pod":
        metadata = new["metadata"]
    return {**kept, "metadata": metadata} | ({} if status is None else {"status": status})


def now_of(answer: dict[str, Any]) -> str:
    entries = answer["body"].get("metadata", {}).get("managedFields") or []
    return max((entry.get("time", "") for entry in entries), default="") or "2026-01-01T00:00:00Z"


def untimed(obj: dict[str, Any], kind: str) -> list[str]:
    """The managedFields without their times, as text: the order of fields counts, except where JSON has none."""
    order = orjson.OPT_SORT_KEYS if kind == "Widget" else 0
    entries = obj["metadata"].get("managedFields") or ()
    return [
        orjson.dumps({name: value for name, value in entry.items() if name != "time"}, option=order).decode()
        for entry in entries
    ]


def in_order(details: dict[str, Any]) -> Any:
    return sorted(orjson.dumps(cause) for cause in details.get("causes", ()))


def differences(ours: Any, real: Any, path: str = "") -> Any:
    """Name every place where an object differs from the real one beyond what is set elsewhere."""
    if isinstance(ours, dict) and isinstance(real, dict):
        for name in ours.keys() | real.keys():
            mine, theirs = ours.get(name), real.get(name)
            if name not in ("managedFields", "resourceVersion", "generation") and not (
                name in FROM_ELSEWHERE and mine is None
            ):
                yield from differences(mine, theirs, f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(real, list) and len(ours) == len(real):
        for index, (mine, theirs) in enumerate(zip(ours, real, strict=True)):
            yield from differences(mine, theirs, f"{path}[{index}]")
    elif ours != real and (ours or real):
        yield f"{path}: ours {ours!r}, real {real!r}"

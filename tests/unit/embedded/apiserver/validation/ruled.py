"""Put the rules of `rules.yaml` to a server, whichever it is: each alone, then all that it takes at once."""

import re
from pathlib import Path
from typing import Any

import orjson
import yaml

from tests.conformance.api_cases.asking import Asked
from tests.conformance.api_cases.running import Door
from tests.unit.embedded.apiserver.patching.random_sequences import DEFINITIONS, served

SORTS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("rules.yaml").read_text())
RECORDED = Path(__file__).with_name("recorded_rules.json")
GROUP = "rules.example"
OBJECT_TYPE = re.compile(r"selfType[0-9]+(\.[@\w]+)*")
"""What the real server calls the type of an object: another name each time, which ours does not make up."""


def definition(sort: int, fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"sort{sort}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"kind": f"Sort{sort}", "plural": f"sort{sort}s"},
            "versions": [version],
        },
    }


def field(sort: dict[str, Any], rule: str) -> dict[str, Any]:
    return {**sort["of"], "x-kubernetes-validations": [{"rule": rule}]}


async def record(door: Door) -> list[dict[str, Any]]:
    """Return for each sort what was said to rules that cannot be, and to every value which rules it breaks."""
    return [await record_sort(door, number, sort) for number, sort in enumerate(SORTS)]


async def record_sort(door: Door, number: int, sort: dict[str, Any]) -> dict[str, Any]:
    refused = {rule: said for rule in sort["rules"] if (said := await refusal(door, number, sort, rule))}
    taken = [rule for rule in sort["rules"] if rule not in refused]
    fields = {f"f{position}": field(sort, rule) for position, rule in enumerate(taken)}
    await door.ask(Asked("POST", DEFINITIONS, body=definition(number, fields)))
    await served(door, f"/apis/{GROUP}/v1/sort{number}s")
    values = [await broken(door, number, dict.fromkeys(fields, value), taken) for value in sort["values"]]
    return {"refused": refused, "values": values}


async def refusal(door: Door, number: int, sort: dict[str, Any], rule: str) -> str:
    """Return what is wrong with a definition that has this rule; empty if nothing is."""
    tried = definition(number, {"f": field(sort, rule)})
    answer = await door.ask(Asked("POST", DEFINITIONS, "dryRun=All", tried))
    assert answer.status in (201, 422), answer.body
    if answer.status == 201:
        return ""
    return OBJECT_TYPE.sub("object", answer.body["details"]["causes"][0]["message"])


async def broken(door: Door, number: int, spec: dict[str, Any], rules: list[str]) -> Any:
    """Return what is said of each rule that an object breaks, or the whole answer if it is not about rules."""
    body = {"apiVersion": f"{GROUP}/v1", "kind": f"Sort{number}", "metadata": {"name": "x"}, "spec": spec}
    answer = await door.ask(Asked("POST", f"/apis/{GROUP}/v1/sort{number}s", "dryRun=All", body))
    if answer.status == 201:
        return {}
    causes = (answer.body.get("details") or {}).get("causes") or ()
    if not causes or any(not cause["field"].startswith("spec.f") for cause in causes):
        return {
            "code": answer.status,
            "causes": sorted(causes, key=str),
            "message": "" if causes else answer.body["message"],
        }
    return {rules[int(cause["field"][6:].partition(".")[0])]: cause["message"] for cause in causes}


def written(recorded: list[dict[str, Any]]) -> bytes:
    return b"[\n" + b",\n".join(orjson.dumps(sort, option=orjson.OPT_SORT_KEYS) for sort in recorded) + b"\n]\n"

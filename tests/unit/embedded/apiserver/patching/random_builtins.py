"""What three managers do to an object of a built-in kind, all by chance, but the same for the same number."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.unit.embedded.apiserver.patching.random_applies import MANAGERS, WORDS, Step, some_metadata

Chance = random.Random
Make = Callable[[Chance, bool], dict[str, Any]]
"""Makes an object; a whole one, or what a patch may say."""


@dataclass(frozen=True)
class Sequence:
    """What is done to one object, step after step."""

    resource: str
    """Its path, with a place for the namespace."""
    api_version: str
    kind: str
    steps: list[Step]


def config_map(chance: Chance, whole: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if chance.random() < 0.9:
        made["data"] = some(chance, {word: chance.choice(WORDS) for word in WORDS}, whole)
    if chance.random() < 0.2:
        made["binaryData"] = {"x": chance.choice(("YQ==", "Yg=="))}
    return made


def service(chance: Chance, whole: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"ports": listed(chance, "port", (80, 81, 82), service_port, whole, least=1)}
    if chance.random() < 0.5:
        spec["selector"] = some(chance, {word: chance.choice(WORDS) for word in WORDS}, whole)
    if chance.random() < 0.2:
        spec["sessionAffinity"] = chance.choice(("None", "ClientIP"))
    if chance.random() < 0.2:
        spec["externalIPs"] = chance.sample(("1.1.1.1", "2.2.2.2", "3.3.3.3"), chance.randint(0, 2))
    return {"spec": spec if whole else some(chance, spec, whole)}


def service_port(chance: Chance, port: int) -> dict[str, Any]:
    made: dict[str, Any] = {"port": port, "name": f"p{port}"}
    if chance.random() < 0.3:
        made["protocol"] = chance.choice(("TCP", "UDP"))
    if chance.random() < 0.4:
        made["targetPort"] = chance.choice((8080, "web"))
    return made


def deployment(chance: Chance, whole: bool) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod_spec(chance, whole)}
    if chance.random() < 0.3:
        template["metadata"]["annotations"] = {chance.choice(WORDS): chance.choice(WORDS)}
    spec: dict[str, Any] = {"template": template}
    if whole:
        spec["selector"] = {"matchLabels": {"app": "x"}}
    if chance.random() < 0.4:
        spec["replicas"] = chance.randint(0, 2)
    if chance.random() < 0.3:
        spec["strategy"] = chance.choice(
            (
                {"type": "Recreate"},
                {"type": "RollingUpdate"},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": chance.choice((1, "50%"))}},
                {"$retainKeys": ["type"], "type": "Recreate"},
            )[: 3 if whole else 4]
        )
    return {"spec": spec}


def pod_spec(chance: Chance, whole: bool) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": listed(chance, "name", WORDS, container, whole, least=1)}
    if chance.random() < 0.4:
        spec["volumes"] = listed(chance, "name", ("v", "w"), volume, whole)
    if chance.random() < 0.3:
        keys = chance.sample(WORDS, chance.randint(0, 2))
        spec["tolerations"] = [{"key": key, "operator": "Exists"} for key in keys]
    if chance.random() < 0.3:
        spec["nodeSelector"] = some(chance, {word: chance.choice(WORDS) for word in WORDS}, whole)
    if chance.random() < 0.2:
        spec["imagePullSecrets"] = listed(chance, "name", WORDS, lambda _, name: {"name": name}, whole)
    if chance.random() < 0.2:
        spec["securityContext"] = chance.choice(({}, {"runAsUser": 1}, {"supplementalGroups": [1, 2]}))
    return spec


def container(chance: Chance, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "image": chance.choice(("i:1", "i:2", "i"))}
    if chance.random() < 0.5:
        names = chance.sample(("A", "B", "C"), chance.randint(0, 3))
        made["env"] = [{"name": each, "value": chance.choice(("1", "2", ""))} for each in names]
    if chance.random() < 0.4:
        numbers = chance.sample((80, 81), chance.randint(0, 2))
        made["ports"] = [{"containerPort": number} for number in numbers]
        if chance.random() < 0.3:
            made["ports"].append({"containerPort": 80, "protocol": "UDP"})
    if chance.random() < 0.3:
        made["args"] = chance.sample(WORDS, chance.randint(0, 2))
    if chance.random() < 0.3:
        amounts = ("0.5", "500m", "1", 1, "1000m")
        made["resources"] = {part: {"cpu": chance.choice(amounts)} for part in chance.sample(("requests", "limits"), 1)}
    return made


def volume(chance: Chance, name: str) -> dict[str, Any]:
    source = chance.choice(
        ({"emptyDir": {}}, {"emptyDir": {"medium": "Memory"}}, {"configMap": {"name": chance.choice(WORDS)}})
    )
    return {"name": name, **source}


def some(chance: Chance, made: dict[str, Any], whole: bool) -> dict[str, Any]:
    """Keep some fields; of a patch some become null."""
    kept = {name: value for name, value in made.items() if chance.random() < 0.7}
    return kept if whole else {name: None if chance.random() < 0.15 else value for name, value in kept.items()}


def listed(
    chance: Chance, key: str, names: Any, make: Callable[[Chance, Any], dict[str, Any]], whole: bool, least: int = 0
) -> list[dict[str, Any]]:
    chosen = chance.sample(names, chance.randint(least, len(names)))
    items = [make(chance, name) for name in chosen]
    if not whole and chance.random() < 0.3:
        items.append({"$patch": "delete", key: chance.choice(names)})
    if not whole and chance.random() < 0.05:
        items.append({"$patch": "replace"})
    return items


def with_directives(chance: Chance, patch: dict[str, Any]) -> dict[str, Any]:
    """Add to a strategic merge patch what only such patches have."""
    metadata = patch.get("metadata", {})
    if "finalizers" not in metadata and chance.random() < 0.3:
        metadata = patch.setdefault("metadata", {})
        metadata["$deleteFromPrimitiveList/finalizers"] = [f"x/{chance.choice(WORDS)}"]
    if metadata.get("finalizers") and chance.random() < 0.5:
        metadata["$setElementOrder/finalizers"] = [*metadata["finalizers"], "x/c"]
    spec = patch.get("spec", {}).get("template", {}).get("spec", {})
    plain = [item["name"] for item in spec.get("containers", ()) if "$patch" not in item]
    if plain and chance.random() < 0.5:
        others = [word for word in WORDS if word not in plain]
        spec["$setElementOrder/containers"] = [{"name": name} for name in (*plain, *others)]
    return patch


COLLECTIONS: dict[str, tuple[str, str, Make]] = {
    "ConfigMap": ("/api/v1/namespaces/{}/configmaps", "v1", config_map),
    "Service": ("/api/v1/namespaces/{}/services", "v1", service),
    "Deployment": ("/apis/apps/v1/namespaces/{}/deployments", "apps/v1", deployment),
}


def sequences(count: int, start: int = 0) -> Iterator[Sequence]:
    """Return some sequences; those of a number are always the same."""
    for number in range(start, start + count):
        chance = random.Random(f"built-in {number}")
        kind = chance.choice(list(COLLECTIONS))
        resource, api_version, make = COLLECTIONS[kind]
        steps = [step(chance, make, ("create", "apply")), *(step(chance, make, LATER) for _ in range(7))]
        yield Sequence(resource, api_version, kind, steps)


LATER = ("apply", "apply", "apply", "merge", "strategic", "strategic", "strategic", "update", "json")


def step(chance: Chance, make: Make, verbs: tuple[str, ...]) -> Step:
    verb = chance.choice(verbs)
    whole = verb in ("create", "apply", "update")
    body: Any = operations(chance, make) if verb == "json" else make(chance, whole)
    if verb != "json" and (metadata := some_metadata(chance)):
        body["metadata"] = metadata
    if verb == "strategic":
        body = with_directives(chance, body)
    done: Step = {verb: body, "by": chance.choice(MANAGERS)}
    if verb == "apply" and chance.random() < 0.4:
        done["force"] = True
    return done


def operations(chance: Chance, make: Make) -> list[dict[str, Any]]:
    """Make a JSON patch that may fit."""
    made = []
    for _ in range(chance.randint(1, 2)):
        path, value = "", make(chance, True)
        for _ in range(chance.randint(1, 5)):
            if isinstance(value, dict) and value:
                name = chance.choice(list(value))
                path, value = f"{path}/{name}", value[name]
            elif isinstance(value, list) and value:
                index = chance.randrange(len(value))
                path, value = f"{path}/{chance.choice((index, index, '-'))}", value[index]
        op = chance.choice(
            ("add", "replace", "test") if path.endswith("/app") else ("add", "replace", "remove", "test")
        )
        made.append({"op": op, "path": path} | ({} if op == "remove" else {"value": value}))
    return made

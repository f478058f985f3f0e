"""Custom kinds and what three managers do to an object of each, all by chance, but the same for the same seed."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

GROUP = "random.example"
VERSION = "v1"
MANAGERS = ("one", "two", "three")
SEQUENCES_PER_KIND = 5
WORDS = ("a", "b", "c")
Schema = dict[str, Any]
Step = dict[str, Any]


@dataclass(frozen=True)
class Sequence:
    """What is done to one object of a kind, step after step."""

    kind: int
    steps: list[Step]


def definition(kind: int) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    chance = random.Random(f"kind {kind}")
    version: dict[str, Any] = {"name": VERSION, "served": True, "storage": True}
    body = {"spec": struct(chance, 3), "status": struct(chance, 2)}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": body}}
    if chance.random() < 0.5:
        version["subresources"] = {"status": {}}
    names = {"kind": f"Kind{kind}", "plural": plural(kind)}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def plural(kind: int) -> str:
    return f"kind{kind}s"


def struct(chance: random.Random, depth: int) -> Schema:
    names = chance.sample(("f", "g", "h", "i", "j"), chance.randint(2, 4))
    schema: Schema = {"type": "object", "properties": {name: value(chance, depth - 1) for name in names}}
    if chance.random() < 0.2:
        schema["x-kubernetes-map-type"] = chance.choice(("atomic", "granular"))
    if chance.random() < 0.15:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    return schema


def value(chance: random.Random, depth: int) -> Schema:
    inner = (struct, mapping, a_list, a_list, a_list)
    schema = chance.choice(inner)(chance, depth) if depth > 0 and chance.random() < 0.75 else scalar(chance)
    if chance.random() < 0.15:
        schema["nullable"] = True
    return schema


def scalar(chance: random.Random) -> Schema:
    kind = chance.choice(("string", "string", "integer", "boolean", "int-or-string", "number"))
    if kind == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    schema: Schema = {"type": kind}
    if chance.random() < 0.15:
        schema["default"] = {"string": "d", "integer": 7, "boolean": True, "number": 1.5}[kind]
    return schema


def mapping(chance: random.Random, depth: int) -> Schema:
    schema = {"type": "object", "additionalProperties": value(chance, depth - 1)}
    if chance.random() < 0.3:
        schema["x-kubernetes-map-type"] = chance.choice(("atomic", "granular"))
    return schema


def a_list(chance: random.Random, depth: int) -> Schema:
    sort = chance.choice(("atomic", "", "set", "map", "map", "map"))
    if sort == "map":
        return keyed_list(chance, depth)
    schema: Schema = {"type": "array", "items": value(chance, depth - 1)}
    if sort == "set":
        schema["items"] = {"type": chance.choice(("string", "integer"))}
    if sort:
        schema["x-kubernetes-list-type"] = sort
    return schema


def keyed_list(chance: random.Random, depth: int) -> Schema:
    items = struct(chance, max(depth, 1))
    items.pop("x-kubernetes-map-type", None)
    keys = chance.choice((("name",), ("name",), ("name", "port"), ("port", "name")))
    items["properties"]["name"] = {"type": "string"}
    if "port" in keys:
        items["properties"]["port"] = {"type": "integer"}
    items["required"] = ["name"]
    if "port" in keys:
        if chance.random() < 0.5:
            items["properties"]["port"]["default"] = 1
        else:
            items["required"].append("port")
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
    }


def sequences(count: int, start: int = 0) -> Iterator[Sequence]:
    """Return some sequences; those of a number are always the same."""
    for number in range(start, start + count):
        kind = number // SEQUENCES_PER_KIND
        chance = random.Random(f"sequence {number}")
        version = definition(kind)["spec"]["versions"][0]
        schema, has_status = version["schema"]["openAPIV3Schema"], "subresources" in version
        steps = [first(chance, schema), *(step(chance, schema, has_status) for _ in range(chance.randint(4, 9)))]
        yield Sequence(kind, steps)


def first(chance: random.Random, schema: Schema) -> Step:
    verb = chance.choice(("create", "apply", "apply"))
    return {verb: an_object(chance, schema), "by": chance.choice(MANAGERS)}


def step(chance: random.Random, schema: Schema, has_status: bool) -> Step:
    verb = chance.choice(("apply", "apply", "apply", "apply", "merge", "merge", "update", "json"))
    body = operations(chance, schema) if verb == "json" else an_object(chance, schema, nulls=verb == "merge")
    done: Step = {verb: body, "by": chance.choice(MANAGERS)}
    if verb == "apply" and chance.random() < 0.4:
        done["force"] = True
    if has_status and chance.random() < 0.25:
        done["status"] = True
    return done


def an_object(chance: random.Random, schema: Schema, *, nulls: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in ("spec", "status"):
        if chance.random() < (0.85 if name == "spec" else 0.3):
            made[name] = instance(chance, schema["properties"][name], nulls)
    metadata = some_metadata(chance)
    return {**made, "metadata": metadata} if metadata else made


def some_metadata(chance: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if chance.random() < 0.2:
        made["labels"] = {word: chance.choice(WORDS) for word in chance.sample(WORDS, chance.randint(0, 2))}
    if chance.random() < 0.2:
        made["annotations"] = {word: chance.choice(WORDS) for word in chance.sample(WORDS, chance.randint(0, 2))}
    if chance.random() < 0.15:
        made["finalizers"] = [f"x/{word}" for word in chance.sample(WORDS, chance.randint(0, 2))]
    if chance.random() < 0.15:
        made["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": chance.choice(WORDS), "uid": word}
            for word in chance.sample(WORDS, chance.randint(0, 2))
        ]
    return made


def instance(chance: random.Random, schema: Schema, nulls: bool = False) -> Any:
    """Make a value of a schema; now and then one that does not fit."""
    if chance.random() < 0.03 or (nulls and chance.random() < 0.15):
        return None
    if chance.random() < 0.02:
        return chance.choice(("odd", 5, True, 1.5, [], {}, ["odd"], {"odd": 1}))
    if schema.get("x-kubernetes-int-or-string"):
        return chance.choice((1, 2, "a", "b"))
    match schema["type"]:
        case "object":
            return some_fields(chance, schema, nulls)
        case "array":
            return some_items(chance, schema, nulls)
        case "string":
            return chance.choice(WORDS)
        case "integer":
            return chance.randint(1, 3)
        case "number":
            return chance.choice((1, 1.5, 2))
    return chance.random() < 0.5


def some_fields(chance: random.Random, schema: Schema, nulls: bool) -> dict[str, Any]:
    values = schema.get("additionalProperties")
    if values is not None:
        return {word: instance(chance, values, nulls) for word in chance.sample(WORDS, chance.randint(0, 2))}
    required = schema.get("required", ())
    made = {
        name: instance(chance, child, nulls)
        for name, child in schema["properties"].items()
        if name in required or chance.random() < 0.55
    }
    if chance.random() < (0.4 if schema.get("x-kubernetes-preserve-unknown-fields") else 0.02):
        made["unknown"] = chance.choice(("a", 1, ["a"], {"x": "a"}, {"x": {"y": 1}}, {}, []))
    return made


def some_items(chance: random.Random, schema: Schema, nulls: bool) -> list[Any]:
    count = chance.choice((0, 1, 1, 2, 2, 3))
    if schema.get("x-kubernetes-list-type") == "set" and chance.random() < 0.95:
        known = WORDS if schema["items"]["type"] == "string" else (1, 2, 3)
        return chance.sample(known, min(count, 3))
    return [instance(chance, schema["items"], nulls and chance.random() < 0.2) for _ in range(count)]


def operations(chance: random.Random, schema: Schema) -> list[dict[str, Any]]:
    """Make a JSON patch that may fit."""
    made = []
    for _ in range(chance.randint(1, 3)):
        path, node = "", schema
        for _ in range(chance.randint(1, 4)):
            found = below(chance, node)
            if found is None:
                break
            path, node = f"{path}/{found[0]}", found[1]
        op = chance.choice(("add", "add", "replace", "remove"))
        operation = {"op": op, "path": path or "/spec"}
        made.append(operation if op == "remove" else {**operation, "value": instance(chance, node)})
    return made


def below(chance: random.Random, schema: Schema) -> tuple[str, Schema] | None:
    if schema.get("properties"):
        return chance.choice(list(schema["properties"].items()))
    if "additionalProperties" in schema:
        return chance.choice(WORDS), schema["additionalProperties"]
    if "items" in schema:
        return chance.choice(("0", "1", "-")), schema["items"]
    return None

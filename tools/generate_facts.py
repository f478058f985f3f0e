"""Write the facts table: what the embedded API server knows of Kubernetes' built-in kinds.

Usage: python tools/generate_facts.py [file]

Needs Go and, once, the network. The facts come from two places: reflection over the Go types (tools/facts/main.go)
gives the fields, their JSON names, their protobuf numbers and their types; the documents that the kubernetes module
carries (api/discovery, api/openapi-spec/v3) give the resources, and what an apply or a patch does with a list. No text
is taken over. What stands in the table is told in src/fleetqueue/embedded/apiserver/kinds/table.py, which reads it.
"""

import json
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

KUBERNETES: Final = "k8s.io/kubernetes@v1.36.3"
TARGET: Final = Path(__file__).parents[1] / "src" / "fleetqueue" / "embedded" / "apiserver" / "kinds" / "facts.json.z"
META: Final = "apimachinery.pkg.apis.meta.v1."
EVERYWHERE: Final = "*"
"""Stands for every group and version: there the options of requests are kinds, too."""

ZEROS: Final = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}
SCALARS: Final = {*ZEROS, "bytes"}

Document = dict[str, Any]


def facts() -> Document:
    """Return the whole table."""
    seen = reflected()
    documents = Path(json.loads(go("mod", "download", "-json", KUBERNETES))["Dir"]) / "api"
    components = openapi_components(documents / "openapi-spec" / "v3")
    types = {type_name(name): fields for name, fields in seen["structs"].items() if fields is not None}
    published = published_fields(types, components)
    return {
        "kinds": kinds_by_version(seen["kinds"]),
        "resources": list(resources(documents / "discovery")),
        "atomic": sorted(name for name, component in components.items() if is_atomic(component)),
        "types": {name: [field(f, published[name]) for f in types[name]] for name in sorted(types)},
    }


def reflected() -> Document:
    """Ask the Go program; it builds in its own module, whose versions are pinned."""
    answer: Document = json.loads(go("run", ".", folder=Path(__file__).parent / "facts"))
    return answer


def go(*arguments: str, folder: Path | None = None) -> bytes:
    return subprocess.run(["go", *arguments], cwd=folder, stdout=subprocess.PIPE, check=True).stdout


def type_name(go_type: str) -> str:
    """Say a Go type as OpenAPI does: k8s.io/api/core/v1.Pod becomes api.core.v1.Pod (of io.k8s)."""
    return go_type.removeprefix("k8s.io/").replace("/", ".")


def kinds_by_version(kinds: list[Document]) -> dict[str, dict[str, str]]:
    """Map each apiVersion to its kinds, and each kind to its type; what Go adds to every version is told once."""
    found: dict[str, dict[str, str]] = {EVERYWHERE: {}}
    for kind in kinds:
        version, name = "/".join(filter(None, (kind["Group"], kind["Version"]))), type_name(kind["Type"])
        is_everywhere = name.startswith(META) and version != "v1"
        found.setdefault(EVERYWHERE if is_everywhere else version, {})[kind["Kind"]] = name
    found["v1"] = {kind: name for kind, name in found["v1"].items() if kind not in found[EVERYWHERE]}
    return {version: dict(sorted(names.items())) for version, names in sorted(found.items())}


def resources(folder: Path) -> Iterator[list[Any]]:
    """Yield one row for each resource, in the order in which discovery lists groups and their versions."""
    yield from version_rows("", "v1", legacy_resources(folder / "api__v1.json"))
    for group in json.loads((folder / "aggregated_v2.json").read_text())["items"]:
        for version in group["versions"]:
            yield from version_rows(group["metadata"]["name"], version["version"], version["resources"])


def legacy_resources(path: Path) -> list[Document]:
    """Bring the old form of discovery, the only one that describes core/v1, into the new one."""
    listed = json.loads(path.read_text())["resources"]
    found = {each["name"]: each | {"resource": each["name"], "subresources": []} for each in listed}
    for name, each in found.items():
        each["responseKind"] = {"kind": each["kind"], "group": each.get("group"), "version": each.get("version")}
        parent, _, each["subresource"] = name.partition("/")
        if each["subresource"]:
            found[parent]["subresources"].append(each)
    tops = [each for each in found.values() if not each["subresource"]]
    return [
        each | {"scope": "Namespaced" if each["namespaced"] else "Cluster", "singularResource": each["singularName"]}
        for each in tops
    ]


def version_rows(group: str, version: str, listed: list[Document]) -> Iterator[list[Any]]:
    for each in listed:
        yield [
            group,
            version,
            each["responseKind"]["kind"],
            each["resource"],
            each["scope"] == "Namespaced",
            each["singularResource"],
            each.get("shortNames", []),
            each.get("categories", []),
            each["verbs"],
            [subresource(each, group, version) for each in each.get("subresources", ())],
        ]


def subresource(found: Document, group: str, version: str) -> list[Any]:
    kind = found["responseKind"]
    if kind.get("version"):
        group, version = kind["group"] or "", kind["version"]
    return [found["subresource"], group, version, kind["kind"], found["verbs"]]


def openapi_components(folder: Path) -> dict[str, Document]:
    """Read the schemas of all documents; a type that stands in several is the same in all."""
    found: dict[str, Document] = {}
    for path in sorted(folder.glob("*__v*_openapi.json")):
        for name, component in json.loads(path.read_text()).get("components", {}).get("schemas", {}).items():
            found[name.removeprefix("io.k8s.")] = component
    return found


def is_atomic(component: Document) -> bool:
    return bool(component.get("x-kubernetes-map-type") == "atomic")


def published_fields(types: Mapping[str, list[Document]], components: Mapping[str, Document]) -> Any:
    """Map each type to what OpenAPI says of its fields; an inlined type is described where it is inlined."""
    found: dict[str, dict[str, Document]] = {name: {} for name in types}

    def note(name: str, component: Document) -> None:
        required = component.get("required", ())
        for each in types[name]:
            json_name = each["JSON"].split(",")[0]
            if each["Inline"]:
                note(type_name(each["Type"]), component)
            elif json_name in (properties := component.get("properties", {})):
                found[name].setdefault(json_name, properties[json_name] | {"required": json_name in required})

    for name, component in components.items():
        if name in types:
            note(name, component)
    return found


def field(seen: Document, published: Mapping[str, Document]) -> list[Any]:
    """Return [JSON name, protobuf number, type, marks, more]; the name is empty where the type is inlined."""
    name, *options = seen["JSON"].split(",")
    shown = published.get(name, {})
    kind = type_name_in(seen["Type"])
    marks = "o" * ("omitempty" in options) + "z" * ("omitzero" in options) + "r" * bool(shown.get("required"))
    more = {
        "list": shown.get("x-kubernetes-list-type"),
        "keys": shown.get("x-kubernetes-list-map-keys"),
        "map": shown.get("x-kubernetes-map-type"),
        "strategy": seen["PatchStrategy"],
        "key": seen["PatchMergeKey"],
        "go": seen["Go"] if seen["Go"] != usual_go_type(kind) else "",
    }
    more = {key: value for key, value in more.items() if value}
    if "default" in shown and shown["default"] != usual_default(kind, marks):
        more["default"] = shown["default"]
    number = int(seen["Protobuf"].split(",")[1]) if seen["Protobuf"] else 0
    row = [name, number, kind, marks, more]
    return row[: len(row) - (not more) - (not more and not marks)]


def type_name_in(described: str) -> str:
    """Shorten the struct in a described type such as `*k8s.io/api/core/v1.Pod`."""
    start = described.find("k8s.io/")
    return described if start < 0 else described[:start] + type_name(described[start:])


def usual_go_type(kind: str) -> str:
    """Return what Go calls a type that has no name of its own, such as `[]v1.Container`."""
    kind = kind.removeprefix("*").removeprefix("=")
    if kind.startswith("[]"):
        return f"[]{usual_go_type(kind[2:])}"
    if kind.startswith("{}"):
        return f"map[string]{usual_go_type(kind[2:])}"
    if kind in SCALARS:
        return "[]uint8" if kind == "bytes" else kind
    return ".".join(kind.split(".")[-2:])


def usual_default(kind: str, marks: str) -> Any:
    """Return the default that follows from the Go type alone."""
    if kind in ZEROS:
        return None if "o" in marks else ZEROS[kind]
    return None if kind in SCALARS or kind[0] in "*[{=" else {}


def packed(table: Document) -> bytes:
    return zlib.compress(json.dumps(table, separators=(",", ":")).encode(), 9)


def main() -> int:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_bytes(packed(facts()))
    print(f"{target}: {target.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

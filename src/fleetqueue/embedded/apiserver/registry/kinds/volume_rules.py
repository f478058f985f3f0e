"""The rules for the volumes of a pod."""

from collections.abc import Callable, Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import duplicate, forbidden, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.names import label
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults, amount
from fleetqueue.embedded.apiserver.registry.kinds.container_rules import FIELD_PATHS, field_reference_faults

LARGEST_MODE: Final = 0o777
MODE_RANGE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
HOST_PATHS: Final = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
SHORTEST_TOKEN, LONGEST_TOKEN = 600, 2**32
OF_METADATA: Final = ("metadata.annotations", "metadata.labels", *FIELD_PATHS[:3])


def volume_faults(volumes: Sequence[Manifest], field: str) -> tuple[set[str], Faults]:
    """Return the names of the volumes that are in order, and what is wrong with the others."""
    names: set[str] = set()
    causes = []
    for position, volume in enumerate(volumes):
        where, name = f"{field}[{position}]", volume.get("name", "")
        problems = list(_source_faults(volume, where))
        if not name:
            problems.append(required(f"{where}.name"))
        else:
            problems += [invalid_value(f"{where}.name", name, why) for why in label(name)]
        if name in names:
            problems.append(duplicate(f"{where}.name", name))
        if not problems:
            names.add(name)
        causes += problems
    return names, iter(causes)


def _source_faults(volume: Manifest, field: str) -> Faults:
    sources = sorted((name for name in volume if name != "name"), key=lambda name: _ORDER.get(name, len(_ORDER)))
    if not sources:
        yield required(field, "must specify a volume type")
    for position, name in enumerate(sources):
        if position:
            yield forbidden(f"{field}.{name}", "may not specify more than 1 volume type")
        elif name in _RULES:
            yield from _RULES[name](volume[name], f"{field}.{name}")


def _empty_dir(source: Manifest, field: str) -> Faults:
    if "sizeLimit" in source and amount(source["sizeLimit"]) < 0:
        yield forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(source: Manifest, field: str) -> Faults:
    path = source.get("path")
    if not path:
        yield required(f"{field}.path")
    elif ".." in path.split("/"):
        yield invalid_value(f"{field}.path", path, "must not contain '..'")
    yield from checks.one_of(source, "type", field, HOST_PATHS)


def _secret(source: Manifest, field: str) -> Faults:
    if not source.get("secretName"):
        yield required(f"{field}.secretName")
    yield from _item_faults(source, field)


def _config_map(source: Manifest, field: str) -> Faults:
    if not source.get("name"):
        yield required(f"{field}.name")
    yield from _item_faults(source, field)


def _item_faults(source: Manifest, field: str) -> Faults:
    yield from _mode_faults(source, "defaultMode", field)
    for position, item in enumerate(source.get("items") or ()):
        where = f"{field}.items[{position}]"
        if not item.get("key"):
            yield required(f"{where}.key")
        yield from _path_faults(item.get("path"), f"{where}.path")
        yield from _mode_faults(item, "mode", where)


def _mode_faults(source: Manifest, name: str, field: str) -> Faults:
    mode = source.get(name)
    if mode is not None and not 0 <= mode <= LARGEST_MODE:
        yield invalid_value(f"{field}.{name}", mode, MODE_RANGE)


def _path_faults(path: str | None, field: str) -> Faults:
    if not path:
        yield required(field)
    elif path.startswith("/"):
        yield invalid_value(field, path, "must be a relative path")
    elif ".." in path.split("/"):
        yield invalid_value(field, path, "must not contain '..'")


def _claim(source: Manifest, field: str) -> Faults:
    if not source.get("claimName"):
        yield required(f"{field}.claimName")


def _downward(source: Manifest, field: str) -> Faults:
    yield from _mode_faults(source, "defaultMode", field)
    for item in source.get("items") or ():
        yield from _path_faults(item.get("path"), f"{field}.path")
        if "fieldRef" in item:
            yield from field_reference_faults(item["fieldRef"], f"{field}.fieldRef", OF_METADATA)
            if "resourceFieldRef" in item:
                detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
                yield invalid_value(field, "resource", detail)
        elif "resourceFieldRef" not in item:
            yield required(field, "one of fieldRef and resourceFieldRef is required")


def _projected(source: Manifest, field: str) -> Faults:
    yield from _mode_faults(source, "defaultMode", field)
    for position, part in enumerate(source.get("sources") or ()):
        where = f"{field}.sources[{position}]"
        for name in ("secret", "configMap"):
            if name in part:
                if not part[name].get("name"):
                    yield required(f"{where}.{name}.name")
                yield from _item_faults(part[name], f"{where}.{name}")
        if "serviceAccountToken" in part:
            yield from _token_faults(part["serviceAccountToken"], f"{where}.serviceAccountToken", field)


def _token_faults(token: Manifest, field: str, volume: str) -> Faults:
    seconds = token.get("expirationSeconds", SHORTEST_TOKEN)
    if seconds < SHORTEST_TOKEN:
        yield invalid_value(f"{field}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    elif seconds > LONGEST_TOKEN:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield invalid_value(f"{field}.expirationSeconds", seconds, detail)
    yield from _path_faults(token.get("path"), f"{volume}.path")


_RULES: Final[dict[str, Callable[[Manifest, str], Faults]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "configMap": _config_map,
    "projected": _projected,
}
_ORDER: Final = {name: position for position, name in enumerate(_RULES)}

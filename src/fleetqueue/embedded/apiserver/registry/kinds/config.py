"""ConfigMaps and Secrets: their keys, their types, and that some of them never change."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import orjson

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, forbidden, invalid_value, required, too_long
from fleetqueue.embedded.apiserver.kinds.names import config_key
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import filled, without
from fleetqueue.embedded.apiserver.registry.strategy import Strategy

MOST_BYTES: Final = 1024 * 1024
FIXED: Final = "field is immutable when `immutable` is set"
REDACTED: Final = "<secret contents redacted>"
ACCOUNT: Final = "kubernetes.io/service-account.name"


def config_map_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    problems = [] if old is None else list(_fixed_faults(new, old))
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    for key in data:
        problems += [invalid_value(f"data[{key}]", key, why) for why in config_key(key)]
        if key in binary:
            problems.append(invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        problems += [invalid_value(f"binaryData[{key}]", key, why) for why in config_key(key)]
    size = sum(len(value.encode()) for value in data.values()) + sum(map(_decoded_length, binary.values()))
    return [*problems, too_long("", MOST_BYTES)] if size > MOST_BYTES else problems


def _fixed_faults(new: Manifest, old: Manifest) -> Faults:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", FIXED)
    for name in ("data", "binaryData"):
        if (new.get(name) or {}) != (old.get(name) or {}):
            yield forbidden(name, FIXED)


def _decoded_length(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=", -2)


def default_secret(secret: Manifest) -> Manifest:
    """Turn strings into data, which is all that is kept."""
    after = filled(secret, {"type": "Opaque"})
    strings = after.get("stringData")
    if strings is None:
        return after
    data = {key: base64.b64encode(value.encode()).decode() for key, value in strings.items()}
    return {**without(after, "stringData"), "data": {**(after.get("data") or {}), **data}}


def secret_faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    problems: list[Cause] = []
    if old is not None:
        problems += checks.unchanged(new, old, "", "type")
        problems += _fixed_faults(new, old)
    data = new.get("data") or {}
    for key in data:
        problems += [invalid_value(f"data[{key}]", key, why) for why in config_key(key)]
    if sum(map(_decoded_length, data.values())) > MOST_BYTES:
        problems.append(too_long("data", MOST_BYTES))
    rule = _TYPES.get(new.get("type", ""))
    return problems if rule is None else [*problems, *rule(new, data)]


def _needs(*keys: str) -> Callable[[Manifest, Mapping[str, str]], Faults]:
    def faults(secret: Manifest, data: Mapping[str, str]) -> Faults:
        yield from (required(f"data[{key}]") for key in keys if key not in data)

    return faults


def _basic_auth(secret: Manifest, data: Mapping[str, str]) -> Faults:
    if "username" not in data and "password" not in data:
        yield from (required(f"data[{key}]") for key in ("username", "password"))


def _account_token(secret: Manifest, data: Mapping[str, str]) -> Faults:
    if not (secret["metadata"].get("annotations") or {}).get(ACCOUNT):
        yield required(f"metadata.annotations[{ACCOUNT}]")


def _json(key: str) -> Callable[[Manifest, Mapping[str, str]], Faults]:
    def faults(secret: Manifest, data: Mapping[str, str]) -> Faults:
        if key not in data:
            yield required(f"data[{key}]")
            return
        try:
            orjson.loads(base64.b64decode(data[key]))
        except orjson.JSONDecodeError:
            first = base64.b64decode(data[key]).decode(errors="replace").strip()[:1]
            why = (
                f"invalid character '{first}' looking for beginning of value"
                if first
                else "unexpected end of JSON input"
            )
            yield invalid_value(f"data[{key}]", REDACTED, why)

    return faults


_TYPES: Final = {
    "kubernetes.io/service-account-token": _account_token,
    "kubernetes.io/dockercfg": _json(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _json(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _basic_auth,
    "kubernetes.io/ssh-auth": _needs("ssh-privatekey"),
    "kubernetes.io/tls": _needs("tls.crt", "tls.key"),
}
CONFIG_MAPS: Final = Strategy(faults=config_map_faults)
SECRETS: Final = Strategy(default=default_secret, faults=secret_faults)

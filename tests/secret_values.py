"""What others must not read of a fleet, as it is looked for in what is printed and logged."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import yaml

from fleetqueue.api.fleetqueue import KUBECONFIG_KEY

PUBLIC: Final = ("ca.crt", "tls.crt")
"""Keys of Secrets whose values everybody may read."""
SHORT: Final = 16
"""What is shorter, such as a name, opens nothing."""


def of_secrets(secrets: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return the values of Secrets, as they are and as they are encoded; of kubeconfigs, what opens clusters."""
    for secret in secrets:
        for key, encoded in (secret.get("data") or {}).items():
            text = base64.b64decode(encoded).decode(errors="replace")
            if key in PUBLIC:
                continue
            yield encoded
            if key == KUBECONFIG_KEY:
                yield from of_kubeconfig(text)
            else:
                yield text


def of_kubeconfig(text: str) -> Iterator[str]:
    """Return the tokens and keys of a kubeconfig, keys as they are and as they are encoded."""
    for user in (yaml.safe_load(text) or {}).get("users") or ():
        if token := user["user"].get("token"):
            yield token
        if key := user["user"].get("client-key-data"):
            yield from (key, base64.b64decode(key).decode())


def findable(values: Iterable[str]) -> set[str]:
    """Return the lines of values that open something: JSON writes the ends of lines otherwise."""
    lines = {line for value in values for line in value.splitlines()}
    return {line for line in lines if len(line) >= SHORT and not line.startswith("-----")}


def names_of_those_with(secrets: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """Return the names of the texts in which a secret stands."""
    wanted = list(secrets)
    return [name for name, text in texts.items() if any(secret in text for secret in wanted)]

"""Write kubeconfig files: one for each cluster, and one with all of them."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fleetqueue.lab.pki import KeyPair

Kubeconfig = dict[str, Any]
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+/=._-]*(://[A-Za-z0-9._:/-]+)?")
_NO_TEXT: Final = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}
"""What some readers of YAML take for something else than text."""


def kubeconfig(name: str, server: str, authority: bytes, admin: KeyPair) -> Kubeconfig:
    """A kubeconfig with one cluster, one user and one context, all of the cluster's name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority-data": encode(authority)}},
        ],
        "users": [
            {
                "name": f"{name}-admin",
                "user": {
                    "client-certificate-data": encode(admin.certificate),
                    "client-key-data": encode(admin.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        "current-context": name,
    }


def merged(configs: Iterable[Kubeconfig], aliases: Mapping[str, str]) -> Kubeconfig:
    """All clusters in one file; the first is the current one. An alias is a second context of the same cluster."""
    parts = list(configs)
    contexts = [context for part in parts for context in part["contexts"]]
    by_name = {context["name"]: context["context"] for context in contexts}
    contexts += [{"name": alias, "context": dict(by_name[name])} for alias, name in aliases.items()]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster for part in parts for cluster in part["clusters"]],
        "users": [user for part in parts for user in part["users"]],
        "contexts": contexts,
        "current-context": parts[0]["current-context"],
    }


def aliases(hub: str, workers: Iterable[str]) -> dict[str, str]:
    """Further names of the contexts: those of kind clusters, and those of Kueue's own page on MultiKueue."""
    names = list(workers)
    as_kind = {f"kind-{name}": name for name in (hub, *names)}
    as_kueue = {f"worker{number}-cluster": name for number, name in enumerate(names, start=1)}
    return {**as_kind, "manager-cluster": hub, **as_kueue}


def encode(content: bytes) -> str:
    """PEM as kubeconfig files carry it."""
    return base64.b64encode(content).decode()


def dump(config: Kubeconfig) -> bytes:
    """A kubeconfig as YAML; it holds texts only, and a library for all of YAML takes long to import."""
    return ("\n".join(_lines(config)) + "\n").encode()


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    for key, part in value.items():
        if isinstance(part, str):
            yield f"{key}: {_text(part)}"
        elif isinstance(part, Mapping):
            yield f"{key}:"
            yield from (f"  {line}" for line in _lines(part))
        else:
            yield f"{key}:"
            yield from (line for entry in part for line in _entry(entry))


def _entry(entry: Mapping[str, Any]) -> Iterator[str]:
    """One entry of a list, whose first line has the dash."""
    yield from (f"{'  ' if number else '- '}{line}" for number, line in enumerate(_lines(entry)))


def _text(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXT else json.dumps(text)

"""The commands that steps name: each can be typed as it is printed, but for CONTEXT, which only its user knows."""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest

CONTEXT: Final = "CONTEXT"
"""Stands for the user's own context of a worker."""
GO_ON: Final = {"spec": {"stopPolicy": "None"}}
"""The patch that lets a stopped queue go on."""
_COMMAND: Final = re.compile(
    r"`((?:kubectl|fleetqueue|echo) [^`]+)`"  # within a sentence
    r"|^((?:kubectl|fleetqueue|echo) .*?)(?=; |, with your context|$)"  # what a step begins with
)
_WHOSE: Final = re.compile(r", with your context of ([^;]+)")


def commands_of(step: str) -> list[str]:
    """Return the commands that a step names."""
    return [quoted or leading for quoted, leading in _COMMAND.findall(step)]


def context_of(step: str) -> str:
    """Return the cluster whose context a step asks for; empty where it asks for none, or for one of several."""
    found = _WHOSE.search(step)
    return found[1] if found is not None and CONTEXT in step and " or " not in found[1] else ""


def with_context(step: str, context: str) -> str:
    """Write a step for who has this context of the one cluster that it names."""
    return _WHOSE.sub("", step).replace(f"--context {CONTEXT}", f"--context {shlex.quote(context)}")


def patched(words: str, change: Manifest | Sequence[Manifest], namespace: str = "", context: str = "") -> str:
    """Write a patch of an object, `queue q`: a merge patch, or a JSON patch where it is a list of operations."""
    kind = "merge" if isinstance(change, dict) else "json"
    return f"{kubectl(namespace, context)} patch {words} --type {kind} -p {_json(change)}"


def created(manifest: Manifest) -> str:
    """Write how an object is created."""
    return f"echo {_json(manifest)} | kubectl create -f -"


def labelled(words: str, labels: dict[str, str]) -> str:
    """Write how an object, `namespace n`, gets labels, whatever values they have now."""
    return f"kubectl label {words} {shlex.join(f'{key}={value}' for key, value in labels.items())} --overwrite"


def removal(path: str, position: int, known_by: str, value: str) -> list[Manifest]:
    """Return a JSON patch that takes one item off a list, if it is still the one that was seen there."""
    item = f"{path}/{position}"
    return [{"op": "test", "path": f"{item}/{known_by}", "value": value}, {"op": "remove", "path": item}]


def kubectl(namespace: str = "", context: str = "") -> str:
    """Write how a command line begins."""
    options = [("--context", context), ("-n", namespace)]
    return " ".join(["kubectl", *(f"{name} {value}" for name, value in options if value)])


def _json(value: Any) -> str:
    return shlex.quote(json.dumps(value, separators=(",", ":")))

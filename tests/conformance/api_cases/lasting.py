"""Keep of answers what is the same in every run: uids, versions, times and made-up names become signs.

Signs keep what matters. Two objects with one uid have one sign, and versions are numbered in their order, so that a
write that changed nothing, or one that came before another, can still be told.
"""

import base64
import re
from collections.abc import Sequence
from typing import Any

import orjson

UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NOW = re.compile(r"20(?:2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
OTHER_CASE = re.compile(r"case-\d+")
OWN_DESCRIPTION = "What it looks like"
"""That of a column in `definitions.yaml`."""
END = "k8s.io/initial-events-end"
AGE = re.compile(r"\d+(ms|s)|\d+y(\d+d)?")
"""That of what a case made, or of what `bases.yaml` dates years back."""
ENTRY = ("operation", "manager", "subresource", "apiVersion", "time")
MASKS = tuple(
    (re.compile(pattern, re.DOTALL), sign)
    for pattern, sign in (
        (NOW.pattern, "NOW"),
        (r"\b10\.(0|96)\.[0-9]+\.[0-9]+", "ADDRESS"),
        (r"\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
        (r"X509SHA256=[0-9a-f]{64}", "CREDENTIAL"),
        (r"JTI=\S+", "CREDENTIAL"),
        (r"https://kubernetes\.default\.svc(\.cluster\.local)?", "ISSUER"),
        (r"0xc[0-9a-f]{6,}", "POINTER"),
        (r"in record \(\d+\)", "in record (RV)"),
        (r"too old resource version: (\d+) \(\d+\)", r"too old resource version: \1 (RV)"),
        (r"Too large resource version: (\d+), current: \d+", r"Too large resource version: \1, current: RV"),
        (r"the live object at resourceVersion \d+", "the live object at resourceVersion RV"),
        (r"pkg/\S+\.go:\d+", "CODE"),
        (r'"resourceVersion":"\d+"', '"resourceVersion":"RV"'),
        # What Go prints of its own structures, and differences of them, is not for clients.
        (r'Invalid value: "\{.*\}": ', 'Invalid value: "PATCHED": '),
        (r"Invalid value: \{.*?\}: ", "Invalid value: {VALUE}: "),
        (r"Invalid value: \[\{.*?\}\]: ", "Invalid value: [VALUES]: "),
        (r"\n@@.*", "\n"),
    )
)


def lasting(answers: list[dict[str, Any]], namespace: str, prefixes: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return all answers of a case with signs instead of what changes; names that begin so were made up."""
    signs = _Signs(namespace, prefixes)
    signs.look(answers)
    found: list[dict[str, Any]] = signs.put(answers)
    return found


class _Signs:
    def __init__(self, namespace: str, prefixes: Sequence[str]) -> None:
        self.namespace = namespace
        self.names = [re.compile(f"({re.escape(prefix[:58])})[b-z2-9]{{5}}") for prefix in prefixes]
        self.uids: dict[str, str] = {}
        self.versions: set[int] = set()

    # Looking

    def look(self, value: Any) -> None:
        if isinstance(value, dict):
            self._look_at(value)
            for key in sorted(value):
                self.look(value[key])
        elif isinstance(value, list):
            for item in value:
                self.look(item)
        elif isinstance(value, str):
            for uid in UID.findall(value):
                self.uids.setdefault(uid, f"uid-{len(self.uids) + 1}")

    def _look_at(self, value: dict[str, Any]) -> None:
        metadata = _metadata(value)
        if _is_object(value) and str(metadata.get("resourceVersion", "")).isdigit():
            self.versions.add(int(metadata["resourceVersion"]))

    # Putting

    def put(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._put_object(value)
        if isinstance(value, list):
            return [self.put(item) for item in value if not _is_idle_bookmark(item)]
        return self._put_text(value) if isinstance(value, str) else value

    def _put_object(self, value: dict[str, Any]) -> dict[str, Any]:
        after = {self._put_text(key): self.put(item) for key, item in value.items()}
        metadata = _metadata(value)
        if "resourceVersion" in metadata:
            after["metadata"]["resourceVersion"] = self._version(value, metadata["resourceVersion"])
        if metadata.get("continue"):
            after["metadata"]["continue"] = self.put(_opened(metadata["continue"]))
        if isinstance(after.get("managedFields"), list):
            # Their order follows from their times, which are in whole seconds.
            after["managedFields"].sort(key=lambda entry: [str(entry.get(name)) for name in ENTRY])
        if "nodePort" in after:
            after["nodePort"] = "PORT"
        if after.get("kind") == "Table":
            for column in after.get("columnDefinitions") or ():
                column["description"] = _own_description(column["description"])
            after["rows"] = [{**row, "cells": [_ageless(cell) for cell in row["cells"]]} for row in after["rows"] or ()]
        # These come in no order from a real server.
        if after.get("kind") == "SelfSubjectRulesReview" and "status" in after:
            for rules in ("resourceRules", "nonResourceRules"):
                after["status"][rules].sort(key=str)
        if after.get("kind") == "APIResourceList":
            after["resources"].sort(key=lambda resource: resource["name"])
        if after.get("kind") in ("APIGroupList", "APIGroupDiscoveryList"):
            field = "groups" if "groups" in after else "items"
            after[field] = [group for group in after[field] if not OTHER_CASE.search(str(group))]
        return after

    def _version(self, value: dict[str, Any], version: Any) -> Any:
        if not str(version).isdigit() or version == "0":
            return version
        if not _is_object(value):
            return "RV"
        return f"rv-{sorted(self.versions).index(int(version)) + 1}"

    def _put_text(self, text: str) -> str:
        for name in self.names:
            text = name.sub(r"\1SUFFIX", text)
        text = UID.sub(lambda found: self.uids[found[0]], text)
        for pattern, sign in MASKS:
            text = pattern.sub(sign, text)
        return text.replace(self.namespace, "NAMESPACE")


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _is_object(value: dict[str, Any]) -> bool:
    """Tell an object from a list, whose version is that of all that the server did, and from a bookmark."""
    return "items" not in value and "rows" not in value and "name" in _metadata(value)


def _is_idle_bookmark(event: Any) -> bool:
    """Tell of an event of a watch whether it says nothing but that time has passed."""
    is_bookmark = isinstance(event, dict) and event.get("type") == "BOOKMARK" and isinstance(event.get("object"), dict)
    return is_bookmark and END not in str(event["object"])


def _opened(token: str) -> Any:
    """Return what a continue token says."""
    try:
        found = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except ValueError:
        return token
    return {**found, "rv": "RV" if found.get("rv", 0) > 0 else found.get("rv")}


def _own_description(text: str) -> str:
    """Leave out what Kubernetes' own documentation says of a field: we do not repeat it."""
    return text if text.startswith("Custom resource definition column") or text == OWN_DESCRIPTION else ""


def _ageless(cell: Any) -> Any:
    return "AGE" if isinstance(cell, str) and AGE.fullmatch(cell) else cell

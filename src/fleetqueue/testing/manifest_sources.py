"""Manifests as tests have them: dictionaries, YAML text with one or more documents, or a file of such text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from fleetqueue.api.scheme import Manifest

ManifestSource: TypeAlias = Manifest | str | Path
"""A dictionary, YAML (or JSON) text, or the path of a file."""


def manifests_of(source: ManifestSource) -> Iterator[Manifest]:
    """Read every object of a source, those of a `List` too."""
    if isinstance(source, dict):
        yield from _items(source, "a manifest")
        return
    what = str(source) if isinstance(source, Path) else f"{source[:40]!r}"
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
    for document in _documents(text):
        yield from _items(document, what)


def _documents(text: str) -> list[Any]:
    import yaml  # slow to import

    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document is not None]


def _items(document: Any, what: str) -> Iterator[Manifest]:
    if not isinstance(document, dict) or not {"apiVersion", "kind"} <= document.keys():
        raise ValueError(
            f"{what} is no manifest: it needs an apiVersion and a kind (a file is given as a pathlib.Path)"
        )
    if document["kind"] == "List":
        yield from document.get("items") or ()
    else:
        yield document

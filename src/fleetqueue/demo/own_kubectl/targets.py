"""Which objects a command means: `jobs`, `job a b`, `job/a pod/b`, or those of files."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.kinds import ServedKind, ServedKinds
from fleetqueue.demo.own_kubectl.line import Line
from fleetqueue.demo.own_kubectl.problems import KubectlProblem
from fleetqueue.embedded.apiserver.http.yaml_documents import load
from fleetqueue.embedded.apiserver.http.yaml_error import YamlError

STDIN: Final = "STDIN"


@dataclass(frozen=True, slots=True)
class NamedObject:
    """One object, by its name."""

    kind: ServedKind
    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.kind.name}/{self.name}"


@dataclass(frozen=True, slots=True)
class FileObject:
    """An object of a file, with the file for messages."""

    kind: ServedKind
    manifest: Manifest
    source: str

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"].get("name", ""))

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"].get("namespace", ""))


@dataclass(frozen=True, slots=True)
class KubectlCluster:
    """One cluster, as the commands see it."""

    client: Client
    kinds: ServedKinds

    def acting_as(self, manager: str) -> Client:
        """Return a client whose writes are noted under another name."""
        return Client(self.client.door, manager=manager)


async def kinds_and_names(
    cluster: KubectlCluster, words: Sequence[str]
) -> tuple[list[ServedKind], list[tuple[ServedKind, str]]]:
    """Read what stands behind a verb: kinds of which all are meant, or single objects; raises KubectlProblem."""
    if not words:
        raise KubectlProblem("error: Required resource not specified.")
    if "/" in words[0]:
        pairs = [word.split("/", 1) for word in words]
        return [], [(await cluster.kinds.called(kind), name) for kind, name in pairs]
    kinds = [await cluster.kinds.called(word) for word in words[0].split(",")]
    return (kinds, []) if not words[1:] else ([], [(kind, name) for kind in kinds for name in words[1:]])


async def named(cluster: KubectlCluster, line: Line, words: Sequence[str]) -> list[NamedObject]:
    """Return the objects that a command names one by one; raises KubectlProblem where it names none."""
    kinds, names = await kinds_and_names(cluster, words)
    if kinds:
        raise KubectlProblem("error: resource(s) were provided, but no name was specified")
    return [NamedObject(kind, name, line.namespace if kind.resource.namespaced else "") for kind, name in names]


async def written(cluster: KubectlCluster, line: Line, stdin: str) -> AsyncIterator[FileObject]:
    """Read the objects of the file that a command names; raises KubectlProblem."""
    path = line.flag("--filename")
    source = STDIN if path == "-" else path
    for manifest in documents(stdin if path == "-" else _read(path), source):
        kind = await cluster.kinds.of(manifest, source)
        yield FileObject(kind, _placed(kind, manifest, line), source)


def documents(text: str, source: str) -> Iterator[Manifest]:
    """Read all objects of a text; the items of a List count as such."""
    for part in ("\n" + text).split("\n---"):
        try:
            document, _ = load(part.encode())
        except YamlError as error:
            raise KubectlProblem(f"error: error parsing {source}: error converting YAML to JSON: {error}") from None
        if document:
            yield from document["items"] if document.get("kind") == "List" else [document]


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        raise KubectlProblem(f'error: the path "{path}" does not exist') from None


def _placed(kind: ServedKind, manifest: Manifest, line: Line) -> Manifest:
    """Give an object its namespace; raises KubectlProblem where the command names another one than the object."""
    metadata = dict(manifest.get("metadata") or {})
    if not kind.resource.namespaced:
        return {**manifest, "metadata": metadata}
    given, asked = metadata.setdefault("namespace", line.namespace), line.flag("--namespace")
    if asked and given != asked:
        raise KubectlProblem(
            f'error: the namespace from the provided object "{given}" does not match the namespace "{asked}". '
            f"You must pass '--namespace={given}' to perform this operation."
        )
    return {**manifest, "metadata": metadata}

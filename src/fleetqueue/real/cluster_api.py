"""The few requests that the engine itself makes of a cluster: is it ready, apply these objects, read that one."""

import asyncio
import ssl
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson

from fleetqueue.lab.concurrent_steps import together
from fleetqueue.lab.errors import EngineError
from fleetqueue.real.manifests import Manifest

FIELD_MANAGER: Final = "fleetqueue-engine"
# More at once only makes the API server's queue longer: writes of CRDs are bound by its CPU.
CONCURRENT_WRITES: Final = 6
POLL_SECONDS: Final = 0.1
# Answers of an API server that has too much to do just now, and how long to wait before asking again.
PASSING: Final = frozenset({429, 500, 502, 503, 504})
RETRY_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)


class ClusterApi:
    """One cluster, as its administrator."""

    def __init__(self, name: str, server: str, pki: Path) -> None:
        self.name = name
        self.server = server
        self.pki = pki
        self.session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        context = ssl.create_default_context(cafile=str(self.pki / "ca.crt"))
        context.load_cert_chain(self.pki / "admin.crt", self.pki / "admin.key")
        self.session = aiohttp.ClientSession(
            base_url=self.server,
            connector=aiohttp.TCPConnector(ssl=context),
            timeout=aiohttp.ClientTimeout(total=30),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.session is not None
        await self.session.close()

    async def get(self, path: str) -> Manifest | None:
        """Read an object; None if there is none."""
        status, body = await self.request("GET", path)
        if status == 404:
            return None
        if status != 200:
            raise EngineError(f'cluster "{self.name}": GET {path} answered {status}: {message(body)}')
        manifest: Manifest = orjson.loads(body)
        return manifest

    async def ensure(self, manifest: Manifest) -> None:
        """Create an object, or apply it over the one that is there."""
        for wait in (*RETRY_SECONDS, None):
            status, body = await self.create_or_apply(manifest)
            if status in (200, 201):
                return
            if status not in PASSING or wait is None:
                break
            await asyncio.sleep(wait)
        raise EngineError(f'cluster "{self.name}": {describe(manifest)} was refused with {status}: {message(body)}')

    async def create_or_apply(self, manifest: Manifest) -> tuple[int, bytes]:
        """Create first: that is half the work of applying for the API server, and a first start only creates."""
        status, body = await self.request("POST", f"{collection_path(manifest)}?fieldManager={FIELD_MANAGER}", manifest)
        return await self.apply(manifest) if status == 409 else (status, body)

    async def apply(self, manifest: Manifest) -> tuple[int, bytes]:
        """Apply an object on the server, taking over fields that others set."""
        query = f"?fieldManager={FIELD_MANAGER}&force=true"
        return await self.request("PATCH", object_path(manifest) + query, manifest, "application/apply-patch+yaml")

    async def ensure_all(self, manifests: Iterable[Manifest]) -> None:
        """Ensure many objects: namespaces first, then CRDs, then what may need them."""
        limit = asyncio.Semaphore(CONCURRENT_WRITES)

        async def one(manifest: Manifest) -> None:
            async with limit:
                await self.ensure(manifest)

        for group in in_order(manifests):
            await together(*(one(manifest) for manifest in group))

    async def wait_served(self, crds: Iterable[Manifest], limit: float = 60.0) -> None:
        """Wait until discovery lists every served version of these CRDs."""
        wanted: dict[str, set[str]] = {}
        for crd in crds:
            spec = crd["spec"]
            for version in spec["versions"]:
                if version["served"]:
                    wanted.setdefault(f"/apis/{spec['group']}/{version['name']}", set()).add(spec["names"]["plural"])
        try:
            async with asyncio.timeout(limit):
                await together(*(self.wait_listed(path, names) for path, names in wanted.items()))
        except TimeoutError:
            raise EngineError(
                f'cluster "{self.name}" does not serve all of {", ".join(sorted(wanted))} after {limit:.0f} s; '
                "its kube-apiserver.log says why"
            ) from None

    async def wait_listed(self, path: str, names: set[str]) -> None:
        """Wait until one group version lists these resources."""
        while True:
            answer = await self.get(path)
            if answer is not None and names <= {resource["name"] for resource in answer["resources"]}:
                return
            await asyncio.sleep(POLL_SECONDS)

    async def request(
        self, verb: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, bytes]:
        """Make one request; the status code and the body of the answer."""
        assert self.session is not None
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        try:
            async with self.session.request(verb, path, data=data, headers=headers) as response:
                return response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise EngineError(
                f'cluster "{self.name}" does not answer at {self.server} ({error!r}); its kube-apiserver.log says why'
            ) from error


def in_order(manifests: Iterable[Manifest]) -> list[list[Manifest]]:
    """Split objects into groups that must be written one after the other."""
    groups: tuple[list[Manifest], list[Manifest], list[Manifest]] = ([], [], [])
    for manifest in manifests:
        kind = manifest["kind"]
        groups[0 if kind == "Namespace" else 1 if kind == "CustomResourceDefinition" else 2].append(manifest)
    return list(groups)


def collection_path(manifest: Manifest) -> str:
    """The path that objects of this kind and namespace are created under."""
    version = manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{plural(manifest['kind'])}"


def object_path(manifest: Manifest) -> str:
    """The path of one object."""
    return f"{collection_path(manifest)}/{manifest['metadata']['name']}"


def plural(kind: str) -> str:
    """The resource of a kind, by the rule that every kind we write follows."""
    name = kind.lower()
    if name.endswith("y"):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith("s") else "s")


def describe(manifest: Manifest) -> str:
    """An object as a person would name it."""
    metadata = manifest["metadata"]
    namespace = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f'{manifest["kind"]} "{namespace}{metadata["name"]}"'


def message(body: bytes) -> str:
    """What a Kubernetes Status says."""
    try:
        text: str = orjson.loads(body)["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return body[:300].decode(errors="replace")
    return text

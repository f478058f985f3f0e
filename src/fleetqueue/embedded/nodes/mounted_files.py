"""Keep what is mounted in a pod's containers current: the token of its account, and what ConfigMaps and secrets hold.

A change shows a while after it was made, all files of a pod at once. What was mounted stays where its object has gone,
and a file that was mounted alone (`subPath`) stays as it was when its container was started. So does the environment,
which is looked up at each start.

Mirrors: kubernetes pkg/volume/util/atomic_writer.go, pkg/kubelet/token
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.nodes.pod_environment import TOKEN_SECONDS, NotThere, PodEnvironment, all_expanded
from fleetqueue.embedded.nodes.programs import ProgramAccount, ProgramContext
from fleetqueue.runtime.logs import Log

SYNC_SECONDS: Final = 60.0
"""How long a kubelet lets pass until it looks at a pod again, by default."""
RENEWED_AT: Final = 0.8
"""At which part of its lifetime a token is renewed."""
TOKEN_RETRY: Final = 60.0

log = Log("programs")


class MountedFiles:
    """The files of one pod."""

    def __init__(self, environment: PodEnvironment, account: ProgramAccount) -> None:
        self.environment = environment
        self.account = account
        self.objects = frozenset(mounted_objects(environment.pod))
        self._news = asyncio.Event()
        self._latest: dict[str, Mapping[str, bytes]] = {}
        """What a container finds at its next start, where that is not what it was started with."""

    async def renew(self, container: Manifest, context: ProgramContext) -> None:
        """Give a container that is started again what is looked up at each start; raises NotThere where it cannot."""
        env = await self.environment.env(container)
        context.env = env
        context.command, context.args = (all_expanded(container.get(part), env) for part in ("command", "args"))
        context.refresh(self._latest.get(container["name"], context.files))

    async def read(self, container: Manifest) -> dict[str, bytes]:
        return await self.environment.files(container, self.account)

    def see(self, obj: Object) -> None:
        """Take note that an object of the pod's namespace is another one now."""
        if (obj.resource.kind, obj.name) in self.objects:
            self._news.set()

    async def keep(self, places: Mapping[str, ProgramContext]) -> None:
        """Keep the files at these places current until cancelled; they are named by their containers."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_token())
            while True:
                await self._news.wait()
                await asyncio.sleep(SYNC_SECONDS)
                self._news.clear()
                await self._refresh(places)

    async def _refresh(self, places: Mapping[str, ProgramContext]) -> None:
        try:
            contents = {spec["name"]: await self.read(spec) for spec in self._containers()}
        except NotThere as error:
            log.info("mounted files stay as they are", pod=self._pod, why=error)
            return
        except (errors.ApiError, errors.Unreachable) as error:
            log.warning("mounted files not read", pod=self._pod, error=error)
            self._news.set()
            return
        for spec in self._containers():
            context, self._latest[spec["name"]] = places[spec["name"]], contents[spec["name"]]
            alone = {path: context.files[path] for path in mounted_alone(spec) if path in context.files}
            context.refresh({**contents[spec["name"]], **alone})

    async def _keep_token(self) -> None:
        pause = TOKEN_SECONDS * RENEWED_AT
        while True:
            await asyncio.sleep(pause)
            try:
                self.account.token = await self.environment.token()
                pause = TOKEN_SECONDS * RENEWED_AT
                self._news.set()
            except (NotThere, errors.ApiError, errors.Unreachable) as error:
                log.warning("token not renewed", account=f"{self.account.namespace}/{self.account.name}", error=error)
                pause = TOKEN_RETRY

    def _containers(self) -> list[Manifest]:
        return list(self.environment.pod["spec"]["containers"])

    @property
    def _pod(self) -> str:
        return f"{self.environment.namespace}/{self.environment.pod['metadata']['name']}"


def mounted_objects(pod: Manifest) -> Iterator[tuple[str, str]]:
    """Return kind and name of the objects of which a pod's volumes hold something."""
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or [volume]:
            for kind, part in (("ConfigMap", "configMap"), ("Secret", "secret")):
                if part in source:
                    yield kind, source[part].get("secretName") or source[part].get("name", "")


def mounted_alone(container: Manifest) -> list[str]:
    """Return the paths at which a single file of a volume is mounted."""
    return [mount["mountPath"].rstrip("/") for mount in container.get("volumeMounts") or () if mount.get("subPath")]

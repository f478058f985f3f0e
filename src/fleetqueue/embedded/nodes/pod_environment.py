"""What a pod gives to its containers: environment variables, mounted files, and a token for the cluster's API."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.authentication_v1 import SUBRESOURCE, issued_token, token_request
from fleetqueue.api.core_v1 import ConfigMap, Secret, ServiceAccount
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.nodes.programs import ProgramAccount

TOKEN_SECONDS: Final = 3607
"""As kubelets ask for, by which those tokens can be told apart."""
ROOT_CA: Final = "kube-root-ca.crt"
ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"

_REFERENCE: Final = re.compile(r"\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")
_BY_KEY: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class NotThere(Exception):
    """Something that a pod refers to does not exist, or not yet; in the words of a kubelet."""

    def __init__(self, message: str, reason: str = "FailedMount") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PodEnvironment:
    """Reads for one pod, by the kubelet's own rights."""

    client: Client
    pod: Manifest

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])

    @property
    def account(self) -> str:
        return self.pod["spec"].get("serviceAccountName") or "default"

    async def token(self) -> str:
        """Request a token that is bound to the pod."""
        metadata = self.pod["metadata"]
        request = token_request(self.account, self.namespace, TOKEN_SECONDS)
        if self.pod["spec"].get("serviceAccountName"):  # the server binds no token to a pod that names no account
            bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
            request["spec"]["boundObjectRef"] = bound
        try:
            return issued_token(await self.client.create(ServiceAccount.resource, request, SUBRESOURCE)).token
        except errors.NotFound as error:
            raise NotThere(f"failed to fetch token: {error.message}") from error

    async def files(self, container: Manifest, account: ProgramAccount) -> dict[str, bytes]:
        """Return what is mounted in a container, by path."""
        volumes = {volume["name"]: volume for volume in self.pod["spec"].get("volumes") or ()}
        files = {
            f"{ACCOUNT_FOLDER}/token": account.token.encode(),
            f"{ACCOUNT_FOLDER}/namespace": self.namespace.encode(),
        }
        for mount in container.get("volumeMounts") or ():
            content = await self._mounted(volumes[mount["name"]], account)
            part = mount.get("subPath", "")
            at = mount["mountPath"].rstrip("/")
            files |= (
                {at: content[part]} if part in content else {f"{at}/{name}": data for name, data in content.items()}
            )
        return files

    async def env(self, container: Manifest) -> dict[str, str]:
        """Return the environment of a container; `$(NAME)` means a variable that stands before."""
        variables: dict[str, str] = {}
        try:
            for source in container.get("envFrom") or ():
                prefix = source.get("prefix", "")
                variables |= {prefix + name: text.decode() for name, text in (await self._all(source)).items()}
            for variable in container.get("env") or ():
                name, source = variable["name"], variable.get("valueFrom")
                variables[name] = (
                    await self._value(source) if source else expanded(variable.get("value", ""), variables)
                )
        except NotThere as error:
            raise NotThere(f"Error: {error}", reason="Failed") from error
        return variables

    async def _mounted(self, volume: Manifest, account: ProgramAccount) -> dict[str, bytes]:
        sources = (volume.get("projected") or {}).get("sources") or [volume]
        content: dict[str, bytes] = {}
        try:
            for source in sources:
                content |= await self._source(source, account)
        except NotThere as error:
            raise NotThere(f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}') from error
        return content

    async def _source(self, source: Manifest, account: ProgramAccount) -> dict[str, bytes]:
        """Read one source of files; of those that hold no objects, such as emptyDir, nothing is there."""
        if "serviceAccountToken" in source:
            return {source["serviceAccountToken"]["path"]: account.token.encode()}
        if "downwardAPI" in source:
            items = source["downwardAPI"].get("items") or ()
            return {item["path"]: self._field(item.get("fieldRef") or {}).encode() for item in items}
        for kind, part, name in ((ConfigMap, "configMap", "name"), (Secret, "secret", "secretName")):
            if part in source:
                asked = source[part]
                whole = await self._entries(
                    kind, asked.get(name) or asked.get("name", ""), asked.get("optional", False)
                )
                items = asked.get("items")
                return whole if items is None else {i["path"]: whole[i["key"]] for i in items if i["key"] in whole}
        return {}

    async def _all(self, source: Manifest) -> dict[str, bytes]:
        for kind, part in ((ConfigMap, "configMapRef"), (Secret, "secretRef")):
            if part in source:
                return await self._entries(kind, source[part].get("name", ""), source[part].get("optional", False))
        return {}

    async def _value(self, source: Manifest) -> str:
        if "fieldRef" in source:
            return self._field(source["fieldRef"])
        for kind, part in ((ConfigMap, "configMapKeyRef"), (Secret, "secretKeyRef")):
            if part in source:
                asked = source[part]
                entries = await self._entries(kind, asked.get("name", ""), asked.get("optional", False))
                if asked["key"] in entries:
                    return entries[asked["key"]].decode()
                if not asked.get("optional"):
                    where = f"{kind.resource.kind} {self.namespace}/{asked['name']}"
                    raise NotThere(f"couldn't find key {asked['key']} in {where}")
        return ""

    async def _entries(self, kind: Any, name: str, optional: bool) -> dict[str, bytes]:
        try:
            source_object = await self.client.get(kind.resource, name, self.namespace)
        except errors.NotFound as error:
            if optional or name == ROOT_CA:  # a cluster without sockets has no certificate to trust
                return {}
            raise NotThere(f'{kind.resource.kind.lower()} "{name}" not found') from error
        if kind is Secret:
            return {key: base64.b64decode(value) for key, value in (source_object.get("data") or {}).items()}
        binary = {key: base64.b64decode(value) for key, value in (source_object.get("binaryData") or {}).items()}
        return binary | {key: value.encode() for key, value in (source_object.get("data") or {}).items()}

    def _field(self, reference: Mapping[str, str]) -> str:
        """Return a field of the pod itself, by its path."""
        path = reference.get("fieldPath", "")
        if keyed := _BY_KEY.fullmatch(path):
            return str((self.pod["metadata"].get(keyed[1]) or {}).get(keyed[2], ""))
        value: Any = self.pod
        for step in path.split("."):
            value = value.get(step, "") if isinstance(value, dict) else ""
        return str(value)


def all_expanded(texts: Sequence[str] | None, env: Mapping[str, str]) -> list[str]:
    return [expanded(text, env) for text in texts or ()]


def expanded(text: str, env: Mapping[str, str]) -> str:
    """Put variables in place of `$(NAME)`; an unknown one stays as it is written, and `$$` is a single sign."""
    return _REFERENCE.sub(lambda match: env.get(match[1], match[0]) if match[1] else "$", text)

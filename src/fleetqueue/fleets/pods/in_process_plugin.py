"""The secret reader for whoever would run a program, but shares a process with the hub.

It stands in for `client.credentials.run_plugin`: asked in the same words, and as slow or quick as the hub answers.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import orjson

from fleetqueue.api.errors import Unreachable
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.credentials import Credential, read_exec_credential
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.controllers.secret_reader import PluginError, exec_credential, secrets_of

RunPlugin = Callable[[ExecPlugin, Connection], Awaitable[Credential]]
ACCOUNT_OPTIONS: Final = ("--managed-service-account", "--managed-serviceaccount")
"""Ours, and that of OCM's own plugin."""


def plugin_runner(hub: Client, namespace: str) -> RunPlugin:
    """Return what reads credentials on the hub, in a namespace unless a profile names another."""
    read = secrets_of(hub)

    async def run(plugin: ExecPlugin, connection: Connection) -> Credential:
        info, account = exec_info(plugin, connection), account_of(plugin.args)
        try:
            printed = await exec_credential(info, read, namespace=namespace, managed_service_account=account)
        except PluginError as error:
            raise Unreachable(f'exec plugin "{plugin.command}" failed with 1: {error}') from error
        return read_exec_credential(plugin, orjson.dumps(printed))

    return run


def exec_info(plugin: ExecPlugin, connection: Connection) -> Manifest:
    """Build what the plugin would find in its environment, as far as it looks at it."""
    spec: Manifest = {"interactive": False}
    if plugin.provide_cluster_info:
        config = {} if plugin.cluster_config is None else {"config": plugin.cluster_config}
        spec["cluster"] = {"server": connection.server, **config}
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}


def account_of(args: Sequence[str]) -> str:
    """Return the managed service account that the arguments name, as `--option=name` or `--option name`."""
    for index, arg in enumerate(args):
        option, _, value = arg.partition("=")
        if option in ACCOUNT_OPTIONS:
            return value or "".join(args[index + 1 : index + 2])
    return ""

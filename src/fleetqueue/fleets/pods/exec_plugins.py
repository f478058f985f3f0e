"""The programs that give credentials for ClusterProfiles: readers of secrets are built in, all others are run.

A reader is known by the last part of its command, as the images of our own parts are, since nothing can be put into a
pod here. It is asked in the same words as the program, and is as slow or quick as the hub answers. Any other program is
run on this machine, by whoever runs the fleet.
"""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePath
from typing import Final

import orjson

from fleetqueue.api.errors import Unreachable
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.credentials import Credential, failed, read_exec_credential, run_plugin
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.controllers.secret_reader import PluginError, exec_credential, secrets_of

RunPlugin = Callable[[ExecPlugin, Connection], Awaitable[Credential]]
OUR_PROGRAM, OUR_COMMAND = "fleetqueue", "secret-reader"
READERS: Final = frozenset({"kubeconfig-secretreader", "secretreader", "cp-creds"})
"""Upstream's plugins, of which ours does the work where they are not on this machine."""
ACCOUNT_OPTIONS: Final = ("--managed-service-account", "--managed-serviceaccount")
"""Ours, and that of OCM's own plugin."""


def plugin_runner(hub: Client, namespace: str) -> RunPlugin:
    """Return what gives credentials; what is built in reads secrets of a namespace, unless a profile names another."""
    read = secrets_of(hub)

    async def run(plugin: ExecPlugin, connection: Connection) -> Credential:
        if not is_built_in(plugin):
            return await run_plugin(plugin, connection)
        info, account = exec_info(plugin, connection), account_of(plugin.args)
        try:
            printed = await exec_credential(info, read, namespace=namespace, managed_service_account=account)
        except PluginError as error:
            raise Unreachable(failed(plugin, 1, str(error))) from error
        return read_exec_credential(plugin, orjson.dumps(printed))

    return run


def is_built_in(plugin: ExecPlugin) -> bool:
    """Tell whether a plugin is our own, or one that we stand in for."""
    name = PurePath(plugin.command).name
    if name == OUR_PROGRAM:
        return plugin.args[:1] == (OUR_COMMAND,)
    return name in READERS and shutil.which(plugin.command) is None


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

"""`fleetqueue secret-reader`: the exec plugin with which Kueue reaches the cluster of a ClusterProfile."""

import os
from typing import Annotated, Any, Final

import typer

from fleetqueue.cli.exit_codes import CommandFailure, run
from fleetqueue.cli.options import Context, Kubeconfig

EXEC_INFO: Final = "KUBERNETES_EXEC_INFO"


def secret_reader(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Annotated[str, typer.Option(help="Where secrets are; otherwise the context's, or the pod's own.")] = "",
    managed_service_account: Annotated[
        str, typer.Option(help="Whose token is read where the profile only names its cluster.")
    ] = "",
) -> None:
    """Print the credential of a cluster, read from a secret on the hub: an exec plugin for ClusterProfiles.

    It is not for people: Kueue runs it and says in KUBERNETES_EXEC_INFO which cluster it wants.

    \b
    Example:
      fleetqueue secret-reader --namespace kueue-system
    In Kueue's configuration:
      multiKueue: {clusterProfile: {accessProviders: [{name: fleetqueue, execConfig: {command: fleetqueue,
        args: [secret-reader], apiVersion: client.authentication.k8s.io/v1, provideClusterInfo: true}}]}}
    """
    from fleetqueue.client import kubeconfig as kubeconfigs

    info = exec_info(os.environ.get(EXEC_INFO, ""))
    connection = kubeconfigs.load(kubeconfig, context)
    where = namespace or os.environ.get("NAMESPACE", "").strip() or connection.namespace
    print(run(_credential(info, connection, where, managed_service_account)))


def exec_info(text: str) -> dict[str, Any]:
    """Read what the plugin was handed."""
    import orjson

    if not text:
        raise CommandFailure(f"failed to read {EXEC_INFO}: it is not set; this is a plugin, see --help")
    try:
        info = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CommandFailure(f"failed to read {EXEC_INFO}: {error}") from error
    if not isinstance(info, dict):
        raise CommandFailure(f"failed to read {EXEC_INFO}: it is no map")
    return info


async def _credential(info: dict[str, Any], connection: Any, namespace: str, account: str) -> str:
    import orjson

    from fleetqueue.client.transport import connect
    from fleetqueue.controllers.secret_reader import PluginError, exec_credential, secrets_of

    client = connect(connection)
    try:
        printed = await exec_credential(info, secrets_of(client), namespace=namespace, managed_service_account=account)
    except PluginError as error:
        raise CommandFailure(str(error)) from error
    finally:
        await client.close()
    return orjson.dumps(printed).decode()

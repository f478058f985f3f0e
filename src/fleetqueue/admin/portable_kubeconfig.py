"""Write a kubeconfig that works elsewhere: everything in it, no files, no programs."""

import base64
from typing import Any

import yaml

from fleetqueue.client.kubeconfig import Connection, way


class CannotJoin(Exception):
    """A worker cannot be taken in as asked; the text says what to change."""


def self_contained(name: str, connection: Connection) -> str:
    """Write a connection as a kubeconfig without files or programs, since it is used on the hub."""
    if connection.exec is not None:
        raise CannotJoin(
            f'the kubeconfig of "{name}" uses an exec plugin, which cannot run on the hub; '
            "give one with a token or a client certificate of an administrator"
        )
    cluster: dict[str, Any] = {"server": connection.server}
    if connection.ca:
        cluster["certificate-authority-data"] = encoded(connection.ca)
    cluster |= way(connection.tls_server_name, connection.proxy_url)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": f"{name}-admin", "user": _user(name, connection)}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-admin"}}],
        "current-context": name,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _user(name: str, connection: Connection) -> dict[str, str]:
    if connection.client_certificate and connection.client_key:
        return {
            "client-certificate-data": encoded(connection.client_certificate),
            "client-key-data": encoded(connection.client_key),
        }
    token = connection.token or (connection.token_file.read_text().strip() if connection.token_file else "")
    if not token:
        raise CannotJoin(f'the kubeconfig of "{name}" has neither a token nor a client certificate')
    return {"token": token}


def encoded(content: bytes) -> str:
    """Write bytes as a kubeconfig carries them."""
    return base64.b64encode(content).decode()

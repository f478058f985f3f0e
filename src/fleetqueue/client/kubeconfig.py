"""Where a cluster is and who we are there: kubeconfig files, their text, or a pod's own service account."""

import base64
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FILE_NAMES: Final = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}
"""The fields of each section that name files."""


class KubeconfigError(Exception):
    """The kubeconfig cannot be used; the text says what to change."""


class KubeconfigNotFound(KubeconfigError):
    """The kubeconfig, or a file that it names, does not exist."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints credentials (client.authentication.k8s.io)."""

    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str = "client.authentication.k8s.io/v1"
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"
    install_hint: str = ""
    cluster_config: Any = None


@dataclass(frozen=True, slots=True)
class Connection:
    """One context of a kubeconfig, with file contents read in."""

    server: str
    ca: bytes | None = None
    """PEM; None means the system's certificate authorities."""
    client_certificate: bytes | None = None
    client_key: bytes | None = field(default=None, repr=False)
    certificate_files: tuple[Path, Path] | None = None
    """Where the client's certificate and its key were read, and are renewed."""
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    exec: ExecPlugin | None = None
    tls_server_name: str = ""
    insecure: bool = False
    proxy_url: str = field(default="", repr=False)
    """May carry a password."""
    impersonate: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"
    name: str = ""
    """The context's name, for messages."""
    user: str = ""
    """What the context calls its user."""
    file: Path | None = None
    """The kubeconfig in which all this was read, where it is one file: it may be written anew while we run, and what it
    says then counts. Who changes a connection that was read makes this None."""

    @property
    def has_files(self) -> bool:
        """Tell whether a credential stands in files, which are renewed."""
        return self.token_file is not None or self.certificate_files is not None or self.file is not None

    def read_again(self) -> "Connection":
        """Return the connection as its kubeconfig has it now; itself where that is gone, or half written."""
        if self.file is None:
            return self
        try:
            return load(self.file, self.name)
        except KubeconfigError:
            return self


def load(path: Path | str | None = None, context: str = "") -> Connection:
    """Read a kubeconfig: the path, else $KUBECONFIG, else ~/.kube/config, else the pod's own account."""
    if path is not None:
        return replace(_chosen(_file_config(Path(path)), context, Path(path).parent), file=Path(path))
    listed, paths = _usual_paths()
    if len(paths) == 1:
        return load(paths[0], context)
    if paths:
        return _chosen(_merge([_file_config(p) for p in paths]), context, paths[0].parent)
    if listed:
        raise KubeconfigNotFound(f"KUBECONFIG names no file that exists: {', '.join(map(str, listed))}")
    if (SERVICE_ACCOUNT / "token").exists():
        return in_cluster(SERVICE_ACCOUNT)
    raise KubeconfigError(
        "no cluster given: pass --kubeconfig, set KUBECONFIG, or run inside a cluster; for the fleet on this machine: "
        "export KUBECONFIG=$(fleetqueue kubeconfig --path)"
    )


def context_names(path: Path | str | None = None) -> list[str]:
    """Return the contexts from which `load` chooses; raises KubeconfigError."""
    paths = [Path(path)] if path is not None else _usual_paths()[1]
    return [str(entry["name"]) for entry in _merge([_file_config(p) for p in paths])["contexts"]]


def contexts(path: Path | str | None = None) -> dict[str, Connection]:
    """Read every context of the kubeconfig that `load` would read; those that cannot be used are left out."""
    found = {}
    for name in context_names(path):
        with suppress(KubeconfigError):
            found[name] = load(path, name)
    return found


def _usual_paths() -> tuple[list[Path], list[Path]]:
    """Return the files that $KUBECONFIG names, and those that there are: of these, or in the usual place."""
    listed = [Path(p) for p in os.environ.get("KUBECONFIG", "").split(os.pathsep) if p]
    return listed, [p for p in listed or [Path.home() / ".kube" / "config"] if p.exists()]


def _chosen(config: Mapping[str, Any], context: str, base: Path) -> Connection:
    """Read one context of somebody's own kubeconfig; who named one that is not there hears which are."""
    known = [str(entry.get("name")) for entry in config.get("contexts") or []]
    if context and context not in known:
        raise KubeconfigError(f'the kubeconfig has no context "{context}"; it has: {", ".join(known) or "none"}')
    return parse(config, context=context, base=base)


def in_cluster(root: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> Connection:
    """Use the service account of the pod that we run in; its token file is read again as it rotates."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise KubeconfigError("KUBERNETES_SERVICE_HOST is not set: this is not a pod")
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=_read(root / "ca.crt"),
        token_file=root / "token",
        namespace=_read(root / "namespace").decode().strip(),
        name="in-cluster",
    )


def parse(text: str | Mapping[str, Any], *, context: str = "", base: Path | None = None) -> Connection:
    """Read a kubeconfig's text; `base` is where its relative file names start.

    Without a base, files and programs are forbidden: who may write a secret must not read our disk or run a command.
    """
    config = _mapping(text, "the kubeconfig") if isinstance(text, str) else text
    if not config:
        raise KubeconfigError("the kubeconfig is empty")
    wanted = context or config.get("current-context") or ""
    if not wanted:
        raise KubeconfigError("the kubeconfig has no current-context; name one with --context")
    chosen = _named(config, "contexts", "context", wanted)
    cluster = _named(config, "clusters", "cluster", chosen.get("cluster", ""))
    user = _named(config, "users", "user", chosen["user"]) if chosen.get("user") else {}
    if not cluster.get("server"):
        raise KubeconfigError(f'cluster "{chosen.get("cluster")}" of context "{wanted}" has no server')
    if user.get("auth-provider"):
        raise KubeconfigError(
            f'user "{chosen.get("user")}" uses an auth-provider, which Kubernetes has removed; use exec'
        )
    return Connection(
        server=str(cluster["server"]).rstrip("/"),
        ca=_content(cluster, "certificate-authority", base),
        client_certificate=_content(user, "client-certificate", base),
        client_key=_content(user, "client-key", base),
        certificate_files=_certificate_files(user, base),
        token=user.get("token") or "",
        token_file=_file(user, "tokenFile", base),
        exec=_exec(user.get("exec"), cluster, base),
        tls_server_name=cluster.get("tls-server-name") or "",
        insecure=bool(cluster.get("insecure-skip-tls-verify", False)),
        proxy_url=str(cluster.get("proxy-url") or ""),
        impersonate=_impersonation(user),
        namespace=chosen.get("namespace") or "default",
        name=wanted,
        user=str(chosen.get("user") or ""),
    )


def render(
    name: str, *, server: str, ca: bytes | str, token: str, user: str, tls_server_name: str = "", proxy_url: str = ""
) -> str:
    """Write a kubeconfig with one cluster, one user with a token, and one context of the cluster's name."""
    pem = ca.encode() if isinstance(ca, str) else ca
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(pem).decode()}
    cluster |= way(tls_server_name, proxy_url)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }
    import yaml  # slow to import, and who only knows of connections does without

    return str(yaml.dump(config, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False))


def way(tls_server_name: str, proxy_url: str) -> dict[str, str]:
    """Return the entries of a cluster that say how its server is reached, where that is not the usual way."""
    entries = {"tls-server-name": tls_server_name, "proxy-url": proxy_url}
    return {name: value for name, value in entries.items() if value}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        kind = KubeconfigNotFound if isinstance(error, FileNotFoundError) else KubeconfigError
        raise kind(f"cannot read {path}: {error.strerror}") from error


def _mapping(text: str | bytes, what: str) -> Mapping[str, Any]:
    import yaml

    try:
        # The same language ten times as fast, where PyYAML was built with it: a hub reads hundreds of kubeconfigs.
        config = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise KubeconfigError(f"{what} is not YAML: {problem or error}{where}") from error
    config = {} if config is None else config
    if not isinstance(config, Mapping):
        raise KubeconfigError(f"{what} is no map")
    for kind in ("cluster", "user", "context"):
        if not _is_list_of(kind, config.get(f"{kind}s")):
            raise KubeconfigError(f'{what} has "{kind}s" that are no list of entries with a name and a {kind}')
    return config


def _is_list_of(kind: str, entries: Any) -> bool:
    return not entries or (
        isinstance(entries, list)
        and all(
            isinstance(one, Mapping) and "name" in one and isinstance(one.get(kind) or {}, Mapping) for one in entries
        )
    )


def _file_config(path: Path) -> Mapping[str, Any]:
    """Read one of several files; each has its own folder, in which its relative file names start."""
    config = _mapping(_read(path), str(path))
    for kind, names in _FILE_NAMES.items():
        for section in [entry.get(kind) or {} for entry in config.get(f"{kind}s") or []]:
            section.update({name: str(path.parent / section[name]) for name in names if section.get(name)})
            if section.get("exec"):
                section["exec"]["command"] = _program(section["exec"].get("command") or "", path.parent)
    return config


def _program(command: str, base: Path) -> str:
    """Find a command that has a folder beside the kubeconfig; any other is searched in the PATH when it runs."""
    return str(base / command) if os.sep in command else command


def _merge(configs: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Join several files as kubectl does: the first that names a thing wins."""
    merged: dict[str, Any] = {"clusters": [], "users": [], "contexts": []}
    for config in configs:
        merged.setdefault("current-context", config.get("current-context") or None)
        merged["current-context"] = merged["current-context"] or config.get("current-context")
        for kind in ("clusters", "users", "contexts"):
            taken = {entry["name"] for entry in merged[kind]}
            merged[kind] += [entry for entry in config.get(kind) or [] if entry["name"] not in taken]
    return merged


def _named(config: Mapping[str, Any], plural: str, kind: str, name: str) -> Mapping[str, Any]:
    for entry in config.get(plural) or []:
        if entry.get("name") == name:
            return entry.get(kind) or {}
    raise KubeconfigError(f'the kubeconfig has no {kind} "{name}"')


def _content(section: Mapping[str, Any], name: str, base: Path | None) -> bytes | None:
    data = section.get(f"{name}-data")
    if data:
        try:
            return base64.b64decode("".join(str(data).split()), validate=True)  # YAML may have folded it
        except ValueError as error:
            raise KubeconfigError(f"{name}-data is not base64: {error}") from error
    path = _file(section, name, base)
    return _read(path) if path else None


def _file(section: Mapping[str, Any], name: str, base: Path | None) -> Path | None:
    value = section.get(name)
    if not value:
        return None
    if base is None:
        raise KubeconfigError(f"{name} names a file, which is not allowed here; put its content into {name}-data")
    return base / str(value)


def _certificate_files(user: Mapping[str, Any], base: Path | None) -> tuple[Path, Path] | None:
    if user.get("client-certificate-data") or user.get("client-key-data"):
        return None  # what stands in the kubeconfig itself wins
    certificate, key = _file(user, "client-certificate", base), _file(user, "client-key", base)
    return (certificate, key) if certificate and key else None


def _exec(section: Mapping[str, Any] | None, cluster: Mapping[str, Any], base: Path | None) -> ExecPlugin | None:
    if not section:
        return None
    if base is None:
        raise KubeconfigError("exec names a program, which is not allowed here; use a token or a client certificate")
    if not section.get("command"):
        raise KubeconfigError("the user's exec section has no command")
    extensions = {entry["name"]: entry.get("extension") for entry in cluster.get("extensions") or []}
    return ExecPlugin(
        command=_program(section["command"], base),
        args=tuple(section.get("args") or ()),
        env={entry["name"]: entry.get("value") or "" for entry in section.get("env") or ()},
        api_version=section.get("apiVersion") or "client.authentication.k8s.io/v1",
        provide_cluster_info=bool(section.get("provideClusterInfo")),
        interactive_mode=section.get("interactiveMode") or "IfAvailable",
        install_hint=section.get("installHint") or "",
        cluster_config=extensions.get("client.authentication.k8s.io/exec"),
    )


def _impersonation(user: Mapping[str, Any]) -> dict[str, str]:
    headers = {}
    if user.get("as"):
        headers["Impersonate-User"] = user["as"]
    if user.get("as-uid"):
        headers["Impersonate-Uid"] = user["as-uid"]
    if user.get("as-groups") or user.get("as-user-extra"):
        raise KubeconfigError("as-groups and as-user-extra are not supported; impersonate the user alone")
    return headers

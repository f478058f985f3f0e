"""A kubeconfig says where a cluster is and who we are there, or why it cannot be used."""

import base64
import os

import pytest
import yaml

from fleetqueue.client import kubeconfig
from fleetqueue.client.kubeconfig import Connection, ExecPlugin, KubeconfigError, contexts, load, parse, render


def config(*, cluster=None, user=None, context=None, name="main"):
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": "me", "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me", **(context or {})}}],
        "current-context": name,
    }


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without any kubeconfig."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT", tmp_path / "account")
    return tmp_path


def test_the_least_that_works():
    connection = parse(yaml.safe_dump(config()))

    assert connection == Connection(server="https://main:6443", name="main", user="me")
    assert connection.namespace == "default"


def test_content_that_stands_in_the_kubeconfig():
    cluster = {"certificate-authority-data": encoded("CA"), "tls-server-name": "api", "proxy-url": "http://proxy"}
    user = {"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY"), "token": "t"}

    connection = parse(config(cluster=cluster, user=user, context={"namespace": "team-a"}))

    assert (connection.ca, connection.client_certificate, connection.client_key) == (b"CA", b"CERT", b"KEY")
    assert (connection.token, connection.tls_server_name, connection.proxy_url) == ("t", "api", "http://proxy")
    assert connection.namespace == "team-a"


def test_data_may_be_folded_over_lines():
    folded = "\n".join([encoded("certificate")[:4], encoded("certificate")[4:], ""])

    assert parse(config(cluster={"certificate-authority-data": folded})).ca == b"certificate"


def test_files_are_found_beside_the_kubeconfig(tmp_path):
    write(tmp_path / "pki" / "ca.crt", "CA")
    write(tmp_path / "me.crt", "CERT")
    write(tmp_path / "me.key", "KEY")
    user = {"client-certificate": "me.crt", "client-key": str(tmp_path / "me.key"), "tokenFile": "token"}
    path = write(tmp_path / "config", config(cluster={"certificate-authority": "pki/ca.crt"}, user=user))

    connection = load(path)

    assert (connection.ca, connection.client_certificate, connection.client_key) == (b"CA", b"CERT", b"KEY")
    assert connection.certificate_files == (tmp_path / "me.crt", tmp_path / "me.key")
    assert connection.token_file == tmp_path / "token"


def test_data_comes_before_a_file(tmp_path):
    cluster = {"certificate-authority-data": encoded("CA"), "certificate-authority": "missing.crt"}

    assert parse(config(cluster=cluster), base=tmp_path).ca == b"CA"


def test_a_certificate_in_the_kubeconfig_itself_is_not_looked_for_in_files(tmp_path):
    user = {"client-certificate-data": encoded("C"), "client-key-data": encoded("K"), "client-certificate": "me.crt"}

    connection = parse(config(user=user), base=tmp_path)

    assert (connection.client_certificate, connection.certificate_files) == (b"C", None)


def test_a_context_is_chosen_by_name():
    both = config(name="a")
    both["contexts"] += config(name="b")["contexts"]
    both["clusters"] += config(name="b")["clusters"]

    assert parse(both).server == "https://a:6443"
    assert parse(both, context="b").server == "https://b:6443"


def test_a_slash_at_the_end_of_the_server_is_dropped():
    assert parse(config(cluster={"server": "https://x/k8s/"})).server == "https://x/k8s"


def test_a_context_without_a_user_is_anonymous():
    assert parse(config(context={"user": ""})).token == ""


def test_a_user_can_be_impersonated():
    connection = parse(config(user={"token": "t", "as": "jane", "as-uid": "u1"}))

    assert connection.impersonate == {"Impersonate-User": "jane", "Impersonate-Uid": "u1"}


def test_an_exec_plugin_with_all_its_parts(tmp_path):
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "get-token",
        "args": ["--cluster", "x"],
        "env": [{"name": "PROFILE", "value": "dev"}],
        "installHint": "brew install get-token",
        "provideClusterInfo": True,
        "interactiveMode": "Never",
    }
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]

    connection = parse(config(user={"exec": plugin}, cluster={"extensions": extensions}), base=tmp_path)

    assert connection.exec == ExecPlugin(
        command="get-token",
        args=("--cluster", "x"),
        env={"PROFILE": "dev"},
        api_version="client.authentication.k8s.io/v1beta1",
        provide_cluster_info=True,
        interactive_mode="Never",
        install_hint="brew install get-token",
        cluster_config={"audience": "x"},
    )


@pytest.mark.parametrize(
    ("command", "found"), [("./bin/get-token", "bin/get-token"), ("bin/get-token", "bin/get-token")]
)
def test_a_command_with_a_folder_is_found_beside_the_kubeconfig(tmp_path, command, found):
    connection = parse(config(user={"exec": {"command": command}}), base=tmp_path)

    assert connection.exec.command == str(tmp_path / found)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param("a: [", "the kubeconfig is not YAML", id="no YAML"),
        pytest.param("", "the kubeconfig is empty", id="empty"),
        pytest.param("just words", "the kubeconfig is no map", id="text"),
        pytest.param(
            {**config(), "current-context": ""}, "has no current-context; name one with --context", id="no context"
        ),
        pytest.param({**config(), "contexts": None}, 'has no context "main"', id="context is missing"),
        pytest.param({**config(), "clusters": []}, 'has no cluster "main"', id="cluster is missing"),
        pytest.param({**config(), "users": [{"name": "you"}]}, 'has no user "me"', id="user is missing"),
        pytest.param(config(cluster={"server": ""}), 'cluster "main" of context "main" has no server', id="no server"),
        pytest.param(config(user={"auth-provider": {"name": "oidc"}}), "use exec", id="auth-provider"),
        pytest.param(config(user={"as-groups": ["a"]}), "as-groups and as-user-extra are not supported", id="groups"),
        pytest.param(config(user={"client-key-data": "%%%"}), "client-key-data is not base64", id="no base64"),
        pytest.param(config(user={"tokenFile": "t"}), "tokenFile names a file, which is not allowed here", id="a file"),
        pytest.param(
            config(cluster={"certificate-authority": "ca.crt"}),
            "put its content into certificate-authority-data",
            id="a file that could be data",
        ),
        pytest.param(
            config(user={"exec": {"command": "get-token"}}),
            "exec names a program, which is not allowed here",
            id="a program",
        ),
    ],
)
def test_a_text_that_cannot_be_used_says_why(broken, message):
    with pytest.raises(KubeconfigError, match=message):
        parse(broken)


def test_an_exec_section_needs_a_command(tmp_path):
    with pytest.raises(KubeconfigError, match="exec section has no command"):
        parse(config(user={"exec": {"args": ["x"]}}), base=tmp_path)


def test_a_missing_kubeconfig_is_named(tmp_path):
    with pytest.raises(KubeconfigError, match=r"cannot read .*/none: No such file"):
        load(tmp_path / "none")


def test_a_missing_certificate_is_named(tmp_path):
    path = write(tmp_path / "config", config(cluster={"certificate-authority": "ca.crt"}))

    with pytest.raises(KubeconfigError, match=r"cannot read .*/ca\.crt: No such file"):
        load(path)


def test_no_secret_is_shown(tmp_path):
    user = {
        "token": "s3cret-token",
        "client-key-data": encoded("s3cret-key"),
        "client-certificate-data": encoded("CERT"),
    }
    plugin = {"command": "x", "args": ["--password=s3cret-argument"], "env": [{"name": "P", "value": "s3cret-value"}]}

    shown = repr(parse(config(user=user, cluster={"proxy-url": "http://u:s3cret-pass@proxy"})))
    shown += repr(parse(config(user={"exec": plugin}), base=tmp_path))

    assert "s3cret" not in shown


def test_the_environment_names_the_file(nowhere, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(write(nowhere / "a", config())))

    assert load().server == "https://main:6443"


def test_the_home_folder_has_one(nowhere):
    write(nowhere / "home" / ".kube" / "config", config(name="home"))

    assert load().name == "home"


def test_several_files_are_joined_and_the_first_that_names_a_thing_wins(nowhere, monkeypatch):
    first = write(nowhere / "a", {**config(name="a"), "current-context": ""})
    second = config(name="b", user={"token": "second"})
    second["clusters"] += [{"name": "a", "cluster": {"server": "https://impostor"}}]
    files = [first, nowhere / "missing", write(nowhere / "b", second), write(nowhere / "empty", "")]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(path) for path in files))

    assert load().name == "b"
    assert load().token == ""
    assert load(context="a").server == "https://a:6443"


def test_of_several_files_each_has_its_own_folder(nowhere, monkeypatch):
    write(nowhere / "two" / "ca.crt", "CA of two")
    files = [
        write(nowhere / "one" / "config", config(name="one")),
        write(nowhere / "two" / "config", config(name="two", cluster={"certificate-authority": "ca.crt"})),
    ]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(str(path) for path in files))

    assert load(context="two").ca == b"CA of two"


def test_a_broken_file_among_several_is_named(nowhere, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(write(nowhere / "broken", "a: [")))

    with pytest.raises(KubeconfigError, match=r"broken is not YAML: did not find expected .* in line \d+$"):
        load()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("[]", "is no map", id="a list"),
        pytest.param(
            "{contexts: 3}", 'has "contexts" that are no list of entries with a name and a context', id="a number"
        ),
        pytest.param("{clusters: [a]}", 'has "clusters" that are no list', id="no maps"),
        pytest.param("{users: [{user: {token: t}}]}", 'has "users" that are no list', id="no name"),
        pytest.param("{users: [{name: a, user: 3}]}", 'has "users" that are no list', id="no section"),
    ],
)
def test_a_file_of_another_shape_is_named(tmp_path, content, message):
    path = write(tmp_path / "odd", content)

    with pytest.raises(KubeconfigError, match=f"{path} {message}"):
        load(path)


def test_where_the_environment_names_one_file_it_is_known_which(nowhere, monkeypatch):
    path = write(nowhere / "only", config())
    monkeypatch.setenv("KUBECONFIG", str(path))

    assert load().file == path


def test_an_environment_that_names_only_missing_files_is_an_error(nowhere, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/no/such/file")

    with pytest.raises(KubeconfigError, match="KUBECONFIG names no file that exists: /no/such/file"):
        load()


def test_without_anything_the_way_out_is_named(nowhere):
    with pytest.raises(KubeconfigError, match="pass --kubeconfig, set KUBECONFIG, or run inside a cluster"):
        load()


def account(root):
    write(root / "token", "pod-token\n")
    write(root / "ca.crt", "CA")
    write(root / "namespace", "fleetqueue-system\n")
    return root


def test_a_pod_uses_its_own_account(nowhere, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    account(nowhere / "account")

    connection = load()

    assert (connection.server, connection.name) == ("https://10.0.0.1:443", "in-cluster")
    assert (connection.ca, connection.namespace) == (b"CA", "fleetqueue-system")
    assert connection.token_file == nowhere / "account" / "token"


def test_a_pod_with_an_ipv6_address(tmp_path):
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}

    assert kubeconfig.in_cluster(account(tmp_path), environ).server == "https://[fd00::1]:6443"


def test_outside_of_a_pod_there_is_no_account(tmp_path):
    with pytest.raises(KubeconfigError, match="this is not a pod"):
        kubeconfig.in_cluster(account(tmp_path), {})


def test_an_account_without_its_files_is_named(tmp_path):
    with pytest.raises(KubeconfigError, match=r"cannot read .*/ca\.crt"):
        kubeconfig.in_cluster(tmp_path, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})


def test_what_is_rendered_can_be_read_again():
    text = render("c1", server="https://c1:6443", ca="CA", token="t", user="admin")

    connection = parse(text)

    assert connection == Connection(server="https://c1:6443", ca=b"CA", token="t", name="c1", user="admin")


def test_rendering_the_same_gives_the_same_text():
    def rendered(ca):
        return render("c1", server="https://c1", ca=ca, token="t", user="u")

    assert rendered("CA") == rendered(b"CA")


def test_who_names_a_context_that_is_not_there_hears_which_are(tmp_path):
    path = write(tmp_path / "kubeconfig", config())

    with pytest.raises(KubeconfigError, match='has no context "other"; it has: main'):
        load(path, "other")


SEVERAL = """\
clusters:
- {name: a, cluster: {server: "https://a"}}
- {name: b, cluster: {server: "https://b"}}
contexts:
- {name: hub, context: {cluster: a, user: u}}
- {name: worker, context: {cluster: b, user: u}}
- {name: broken, context: {cluster: none, user: u}}
users:
- {name: u, user: {token: t}}
"""


def test_all_contexts_that_can_be_read_are_read(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(SEVERAL)

    found = contexts(path)

    assert {name: connection.server for name, connection in found.items()} == {
        "hub": "https://a",
        "worker": "https://b",
    }


def test_contexts_of_several_files_are_joined(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).write_text(SEVERAL.replace("worker", name))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'one'}:{tmp_path / 'two'}:{tmp_path / 'none'}")

    assert set(contexts(None)) == {"hub", "one", "two"}

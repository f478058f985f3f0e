"""What a kubeconfig must not contain."""

import pytest
import yaml

from fleetqueue.embedded.multikueue.kubeconfig_rules import Insecure, checked, is_host


def kubeconfig(user=None, cluster=None, **more):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }
    return yaml.safe_dump(config)


def test_a_token_and_an_inline_authority_are_fine():
    connection = checked(kubeconfig(cluster={"certificate-authority-data": "eA=="}))

    assert (connection.server, connection.token) == ("https://10.0.0.1:6443", "t")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (kubeconfig(user={"tokenFile": "/t"}), "tokenFile is not allowed"),
        (
            kubeconfig(cluster={"insecure-skip-tls-verify": True}),
            "insecure TLS verification is not allowed for cluster c",
        ),
        (
            kubeconfig(cluster={"certificate-authority": "/ca"}),
            "certificate-authority file paths are not allowed, use certificate-authority-data for cluster c",
        ),
        (kubeconfig(cluster={"server": ""}), "server URL is required for cluster c"),
        (kubeconfig(cluster={"server": "https://not_a_host!"}), "untrusted server endpoint"),
        (kubeconfig(user={"username": "a", "password": "b"}), "basic auth is not allowed"),
        (kubeconfig(user={"exec": {"command": "sh"}}), "exec plugins are not allowed"),
        (kubeconfig(user={"auth-provider": {"name": "gcp"}}), "auth providers are not allowed"),
        (
            kubeconfig(**{"current-context": "other"}),
            "invalid configuration: [context was not found for specified context: other, ",
        ),
        ("", "invalid configuration: no configuration has been provided"),
        ("{", "failed to parse kubeconfig(apiconfig): "),
        ("just text", "failed to parse kubeconfig(apiconfig): "),
    ],
)
def test_what_is_refused(text, why):
    with pytest.raises(Insecure) as refused:
        checked(text)

    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("https://10.0.0.1:6443", True),
        ("https://[::1]:6443", True),
        ("https://Api.Example.COM", True),
        ("https://a_b", False),
        ("https://", False),
        ("https://x:notaport", False),
    ],
)
def test_hosts(server, expected):
    assert is_host(server) is expected

"""Which proxy the environment names for a server."""

import pytest

from fleetqueue.client.proxies import from_environment

SERVER = "https://api.worker.example:6443"
PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        pytest.param(SERVER, {}, "", id="none"),
        pytest.param(SERVER, {"HTTPS_PROXY": PROXY}, PROXY, id="for https"),
        pytest.param(SERVER, {"https_proxy": PROXY}, PROXY, id="in small letters"),
        pytest.param(SERVER, {"https_proxy": "http://b", "HTTPS_PROXY": "http://a"}, "http://a", id="in both"),
        pytest.param(SERVER, {"HTTP_PROXY": PROXY}, "", id="the one for http is not for https"),
        pytest.param("http://api.example", {"HTTP_PROXY": PROXY}, PROXY, id="for http"),
        pytest.param(SERVER, {"HTTPS_PROXY": "proxy.example:3128"}, PROXY, id="without a scheme"),
        pytest.param("https://localhost:6443", {"HTTPS_PROXY": PROXY}, "", id="this machine by name"),
        pytest.param("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, "", id="this machine by address"),
        pytest.param("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, "", id="this machine by its other address"),
    ],
)
def test_the_proxy_of_a_server(server, environ, proxy):
    assert from_environment(server, environ) == proxy


@pytest.mark.parametrize(
    ("server", "excluded", "is_excluded"),
    [
        pytest.param(SERVER, "*", True, id="everything"),
        pytest.param(SERVER, "other.example, worker.example", True, id="a domain"),
        pytest.param(SERVER, "api.worker.example", True, id="the very name"),
        pytest.param(SERVER, ".worker.example", True, id="all below a domain"),
        pytest.param("https://worker.example", ".worker.example", False, id="but not the domain itself"),
        pytest.param(SERVER, "*.worker.example", True, id="with a star"),
        pytest.param(SERVER, "ker.example", False, id="the end of a word is no domain"),
        pytest.param(SERVER, "WORKER.example", True, id="letters of any size"),
        pytest.param(SERVER, "worker.example:6443", True, id="with its port"),
        pytest.param(SERVER, "worker.example:443", False, id="with another port"),
        pytest.param("https://worker.example", "worker.example:443", True, id="with the usual port"),
        pytest.param("https://10.0.0.1:443", "10.0.0.0/8", True, id="a network, as of a cluster's services"),
        pytest.param("https://11.0.0.1:443", "10.0.0.0/8", False, id="another network"),
        pytest.param(SERVER, "10.0.0.0/8", False, id="a network and a name"),
        pytest.param("https://10.0.0.1", "10.0.0.1", True, id="an address"),
        pytest.param("https://10.0.0.1:6443", "10.0.0.1:443", False, id="an address with another port"),
        pytest.param("https://[fd00::1]:6443", "fd00::1", True, id="an IPv6 address"),
        pytest.param("https://[fd00::1]:6443", "[fd00::1]:6443", True, id="an IPv6 address with its port"),
        pytest.param("https://[fd00::1]:6443", "fd00::/8", True, id="an IPv6 network"),
        pytest.param(SERVER, "nonsense/x, ,", False, id="nonsense"),
    ],
)
def test_who_is_asked_without_a_proxy(server, excluded, is_excluded):
    environ = {"HTTPS_PROXY": PROXY, "NO_PROXY": excluded}

    assert (from_environment(server, environ) == "") is is_excluded

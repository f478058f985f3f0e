"""Which proxy the environment names for a server, and what of its address may be shown."""

import base64

import pytest

from fleetqueue.client.proxies import from_environment, parse

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


@pytest.mark.parametrize(
    ("address", "url", "user"),
    [
        pytest.param(PROXY, PROXY, None, id="without a user"),
        pytest.param("http://me:s3cret@proxy.example:3128", PROXY, "me:s3cret", id="a user and a password"),
        pytest.param("http://me@proxy.example:3128", PROXY, "me:", id="a user alone"),
        pytest.param("http://me:s%40%c3%bc@proxy.example:3128", PROXY, "me:s@ü", id="letters that are escaped"),
        pytest.param("http://me:s/3#c?r@e:t@proxy.example:3128", PROXY, "me:s/3#c?r@e:t", id="letters that should be"),
        pytest.param("http://me:s3cret@[fd00::1]:3128", "http://[fd00::1]:3128", "me:s3cret", id="an IPv6 address"),
    ],
)
def test_the_user_of_a_proxy_is_parted_from_its_address(address, url, user):
    proxy = parse(address)

    assert (proxy.url, proxy.is_usable) == (url, True)
    assert proxy.authorization == (f"Basic {base64.b64encode(user.encode()).decode()}" if user else "")
    assert "Basic" not in repr(proxy)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://me:s3cret@", id="no host"),
        pytest.param("me:s3cret@proxy.example:3128", id="no scheme"),
        pytest.param("http://me:s3cret", id="a password where the port should be"),
        pytest.param("//proxy.example", id="half a scheme"),
        pytest.param("http://[proxy", id="a bracket"),
        pytest.param("socks5://proxy.example:1080", id="not over HTTP"),
    ],
)
def test_what_is_no_address_of_a_proxy(address):
    assert not parse(address).is_usable

"""Who may ask, and in which language the answer is."""

import pytest

from fleetqueue.dashboard.requests import HEADERS, is_authorized, is_loopback, new_token, preferred_language


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        pytest.param("127.0.0.1:8000", True, id="the address that is printed"),
        pytest.param("localhost:9999", True, id="another port, as through ssh -L"),
        pytest.param("LOCALHOST", True, id="no port, in capitals"),
        pytest.param("[::1]:8000", True, id="IPv6"),
        pytest.param("[::1]", True, id="IPv6 without a port"),
        pytest.param("evil.example:8000", False, id="a name that leads here by DNS rebinding"),
        pytest.param("127.0.0.1.evil.example", False, id="a name that begins like the address"),
        pytest.param("evil.example/127.0.0.1:80", False, id="a path in it"),
        pytest.param("127.0.0.1:80@evil.example", False, id="a user in it"),
        pytest.param("", False, id="none"),
    ],
)
def test_only_names_of_this_machine_are_answered(host, answered):
    assert is_loopback(host) is answered


@pytest.mark.parametrize(
    ("headers", "authorized"),
    [
        pytest.param({"Authorization": "Bearer right"}, True, id="the token"),
        pytest.param({"Authorization": "Bearer wrong"}, False, id="another one"),
        pytest.param({"Authorization": "Bearer right "}, False, id="something behind it"),
        pytest.param({"Authorization": "right"}, False, id="without its scheme"),
        pytest.param({"Authorization": "Bearer ré"}, False, id="no ASCII"),
        pytest.param({"Cookie": "token=right"}, False, id="as a cookie"),
        pytest.param({}, False, id="none"),
    ],
)
def test_only_the_token_opens(headers, authorized):
    assert is_authorized(headers, "right") is authorized


def test_a_token_is_long_and_never_the_same():
    tokens = {new_token() for _ in range(100)}

    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        pytest.param("", "en", id="nothing said"),
        pytest.param("zh-CN,zh;q=0.9,en;q=0.8", "zh", id="Chinese first"),
        pytest.param("en-US,en;q=0.9,zh;q=0.8", "en", id="English first"),
        pytest.param("de-DE,zh;q=0.5,en;q=0.2", "zh", id="a language that there is not, then Chinese"),
        pytest.param("fr", "en", id="only one that there is not"),
        pytest.param("zh;q=0, en;q=0.1", "en", id="not Chinese"),
        pytest.param("zh;q=much", "en", id="no number"),
    ],
)
def test_the_language_is_the_one_that_the_browser_likes_best(accepted, language):
    assert preferred_language(accepted) == language


def test_the_security_policy_lets_only_files_of_ours_run():
    policy = HEADERS["Content-Security-Policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "data:" not in policy

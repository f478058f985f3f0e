"""The Go toolchain: its version, its settings, its output."""

import pytest

from fleetqueue.real.toolchain import clean_environment, parse_version, tail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("go version go1.26.8 linux/amd64", (1, 26), id="a release"),
        pytest.param("go version go1.27rc1 linux/amd64", (1, 27), id="a candidate"),
        pytest.param("gcc 13", (0, 0), id="something else"),
    ],
)
def test_go_versions(text, expected):
    assert parse_version(text) == expected


def test_the_users_go_settings_do_not_reach_the_build():
    environ = clean_environment({"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOPROXY": "https://p", "HOME": "/h"})

    assert environ["GOFLAGS"] == "-mod=mod -buildvcs=false"
    assert "GOOS" not in environ
    assert (environ["GOPROXY"], environ["HOME"]) == ("https://p", "/h")


def test_the_tail_of_an_output():
    assert tail(b"\n".join(b"%d" % number for number in range(100))).splitlines()[0] == "75"

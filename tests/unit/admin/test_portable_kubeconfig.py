"""Kubeconfigs that work elsewhere."""

from pathlib import Path

import pytest

from fleetqueue.admin.portable_kubeconfig import CannotJoin, self_contained
from fleetqueue.client.kubeconfig import Connection, ExecPlugin, parse

SERVER = "https://worker:6443"


@pytest.mark.parametrize(
    "connection",
    [
        pytest.param(Connection(SERVER, ca=b"ca", token="t"), id="a token"),
        pytest.param(Connection(SERVER, ca=b"ca", client_certificate=b"c", client_key=b"k"), id="a certificate"),
        pytest.param(Connection(SERVER, token="t"), id="the system's certificate authorities"),
        pytest.param(Connection(SERVER, token="t", tls_server_name="other"), id="another name in the certificate"),
        pytest.param(Connection(SERVER, token="t", proxy_url="http://u:p@proxy:3128"), id="a proxy"),
    ],
)
def test_what_is_written_connects_as_before(connection):
    again = parse(self_contained("cluster1", connection))

    for part in ("server", "ca", "token", "client_certificate", "client_key", "tls_server_name", "proxy_url"):
        assert getattr(again, part) == getattr(connection, part)


def test_a_token_file_is_read_in(tmp_path: Path):
    (tmp_path / "token").write_text("t\n")

    assert parse(self_contained("c", Connection(SERVER, token_file=tmp_path / "token"))).token == "t"


@pytest.mark.parametrize(
    ("connection", "said"),
    [
        pytest.param(Connection(SERVER, exec=ExecPlugin("aws")), "exec plugin", id="a program"),
        pytest.param(Connection(SERVER), "neither a token nor a client certificate", id="nothing"),
    ],
)
def test_what_cannot_work_elsewhere_is_refused(connection, said):
    with pytest.raises(CannotJoin, match=said):
        self_contained("c", connection)

"""What proves who we are: tokens, files that rotate, and the programs that print credentials."""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api.errors import Unreachable
from fleetqueue.client.credentials import Credential, CredentialSource, read_exec_credential, run_plugin
from fleetqueue.client.kubeconfig import Connection, ExecPlugin, load, render
from fleetqueue.testing.virtual_time import ShiftedClock

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def printed(api_version=V1, **status):
    return json.dumps({"apiVersion": api_version, "kind": "ExecCredential", "status": status}).encode()


def plugin(program="", *, api_version=V1, **settings):
    """A plugin that runs a few lines of Python."""
    return ExecPlugin(command=sys.executable, args=("-c", program), api_version=api_version, **settings)


def counting_plugin(tmp_path, expires=""):
    """A plugin that counts how often it was run, in the token that it prints."""
    program = f"""
import json, pathlib
runs = pathlib.Path({str(tmp_path / "runs")!r})
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
status = {{"token": "token-" + str(len(runs.read_text())), "expirationTimestamp": {expires!r}}}
print(json.dumps({{"apiVersion": {V1!r}, "status": status}}))
"""
    return plugin(program)


async def test_a_fixed_token_is_used_for_ever_and_cannot_be_renewed():
    source = CredentialSource(Connection(server="https://x", token="t", client_certificate=b"C", client_key=b"K"))

    credential = await source.current()

    assert credential == Credential("t", b"C", b"K")
    assert not source.renew(credential)
    assert await source.current() is credential


async def test_a_token_file_is_read_again_after_a_minute(tmp_path):
    path = tmp_path / "token"
    path.write_text("one\n")
    source = CredentialSource(Connection(server="https://x", token_file=path))
    first = (await source.current()).token
    path.write_text("two\n")

    soon = (await source.current()).token
    with clock.use(ShiftedClock(timedelta(seconds=61))):
        later = (await source.current()).token

    assert (first, soon, later) == ("one", "one", "two")


async def test_a_refused_token_file_is_read_at_once(tmp_path):
    path = tmp_path / "token"
    path.write_text("one")
    source = CredentialSource(Connection(server="https://x", token_file=path))
    refused = await source.current()
    path.write_text("two")

    assert source.renew(refused)
    assert (await source.current()).token == "two"


async def test_a_renewed_certificate_is_read_after_a_minute_or_when_the_old_one_is_refused(tmp_path):
    files = tmp_path / "tls.crt", tmp_path / "tls.key"

    def renew(number):
        for path in files:
            path.write_text(f"{path.name} {number}")

    renew(1)
    source = CredentialSource(Connection(server="https://x", certificate_files=files))
    first = await source.current()
    renew(2)
    soon = await source.current()
    with clock.use(ShiftedClock(timedelta(seconds=61))):
        later = await source.current()
        renew(3)
        assert source.renew(later)
        after = await source.current()

    seen = [(one.client_certificate, one.client_key) for one in (first, soon, later, after)]
    assert seen == [(f"tls.crt {number}".encode(), f"tls.key {number}".encode()) for number in (1, 1, 2, 3)]


async def test_a_kubeconfig_that_is_written_anew_is_read_after_a_minute_or_when_its_token_is_refused(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(render("hub", server="https://x", ca="CA 1", token="one", user="agent"))
    source = CredentialSource(load(path))
    first = await source.current()
    path.write_text(render("hub", server="https://x", ca="CA 2", token="two", user="agent"))
    soon = await source.current()
    with clock.use(ShiftedClock(timedelta(seconds=61))):
        later = await source.current()
        path.write_text(render("hub", server="https://x", ca="CA 2", token="three", user="agent"))
        assert source.renew(later)
        after = await source.current()

    assert [one.token for one in (first, soon, later, after)] == ["one", "one", "two", "three"]
    assert [one.ca for one in (first, later)] == [b"CA 1", b"CA 2"]


@pytest.mark.parametrize("content", ["", "clusters: [", None], ids=["empty", "half written", "gone"])
async def test_a_kubeconfig_that_cannot_be_read_again_leaves_what_was_read_before(content, tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(render("hub", server="https://x", ca="CA", token="one", user="agent"))
    source = CredentialSource(load(path))
    refused = await source.current()
    path.unlink() if content is None else path.write_text(content)

    assert source.renew(refused)
    assert (await source.current()).token == "one"


async def test_a_missing_token_file_is_named(tmp_path):
    source = CredentialSource(Connection(server="https://x", token_file=tmp_path / "none"))

    with pytest.raises(Unreachable, match=r"cannot read the token file .*/none: No such file"):
        await source.current()


def test_no_secret_is_shown():
    shown = repr(Credential("s3cret", b"CERT", b"s3cret"))

    assert "s3cret" not in shown


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugin_prints_a_token(version):
    credential = await run_plugin(
        plugin(f"print({printed(version, token='t').decode()!r})", api_version=version), Connection("")
    )

    assert credential == Credential(token="t")


async def test_a_plugin_prints_a_certificate_and_its_end():
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY", "expirationTimestamp": "2026-01-01T00:00:00Z"}

    credential = await run_plugin(plugin(f"print({printed(**status).decode()!r})"), Connection(""))

    assert (credential.client_certificate, credential.client_key, credential.token) == (b"CERT", b"KEY", "")
    assert credential.expires == datetime(2026, 1, 1, tzinfo=UTC)


ECHO_INFO = f"""
import json, os
status = {{"token": json.dumps([json.loads(os.environ["KUBERNETES_EXEC_INFO"]), os.environ.get("PROFILE")])}}
print(json.dumps({{"apiVersion": {V1!r}, "status": status}}))
"""


async def test_a_plugin_is_told_about_the_cluster_where_it_wants_to_be():
    connection = Connection(
        "https://x", b"CA", tls_server_name="api", insecure=True, proxy_url="http://proxy", token="not this"
    )
    asking = plugin(ECHO_INFO, provide_cluster_info=True, cluster_config={"audience": "a"}, env={"PROFILE": "dev"})

    info, profile = json.loads((await run_plugin(asking, connection)).token)

    assert profile == "dev"
    assert info == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://x",
                "certificate-authority-data": "Q0E=",
                "proxy-url": "http://proxy",
                "tls-server-name": "api",
                "insecure-skip-tls-verify": True,
                "config": {"audience": "a"},
            },
        },
    }


async def test_a_plugin_that_does_not_ask_is_told_nothing():
    info, _ = json.loads((await run_plugin(plugin(ECHO_INFO), Connection(server="https://x"))).token)

    assert info["spec"] == {"interactive": False}


async def test_a_plugin_runs_once_while_its_credential_is_fresh(tmp_path):
    source = CredentialSource(Connection(server="https://x", exec=counting_plugin(tmp_path)))

    both = await asyncio.gather(source.current(), source.current())
    third = await source.current()

    assert [credential.token for credential in (*both, third)] == ["token-1"] * 3


async def test_a_plugin_runs_again_when_its_credential_has_ended(tmp_path):
    in_an_hour = (clock.now() + timedelta(hours=1)).isoformat()
    source = CredentialSource(Connection(server="https://x", exec=counting_plugin(tmp_path, expires=in_an_hour)))
    first = await source.current()

    with clock.use(ShiftedClock(timedelta(minutes=61))):
        second = await source.current()

    assert (first.token, second.token) == ("token-1", "token-2")


async def test_two_requests_refused_with_the_same_credential_renew_it_once(tmp_path):
    source = CredentialSource(Connection(server="https://x", exec=counting_plugin(tmp_path)))
    refused = await source.current()

    assert source.renew(refused)
    await source.current()
    assert source.renew(refused)

    assert (await source.current()).token == "token-2"


@pytest.mark.parametrize(
    ("failing", "message"),
    [
        pytest.param(
            ExecPlugin("no-such-program-here", install_hint="install it with brew"),
            "^exec: executable no-such-program-here not found; install it with brew$",
            id="missing, with a hint",
        ),
        pytest.param(
            ExecPlugin("no-such-program-here"),
            "^exec: executable no-such-program-here not found$",
            id="missing, without a hint",
        ),
        pytest.param(
            ExecPlugin("/plugins/none"),
            "^exec: fork/exec /plugins/none: no such file or directory$",
            id="a path at which nothing is",
        ),
        pytest.param(ExecPlugin("/"), "^exec: fork/exec /: permission denied$", id="a folder"),
        pytest.param(
            plugin("import sys; print('log in first', file=sys.stderr); sys.exit(3)"),
            f"^exec: executable {sys.executable} failed with exit code 3: log in first$",
            id="it fails",
        ),
        pytest.param(plugin("import sys; sys.exit(4)"), "failed with exit code 4$", id="it fails without a word"),
        pytest.param(
            plugin("import os, sys; os.write(2, bytes([255, 254])); sys.exit(1)"),
            "failed with exit code 1",
            id="it fails in no language",
        ),
        pytest.param(plugin("print('hello')"), "^decoding stdout: .* printed no ExecCredential$", id="no JSON"),
    ],
)
async def test_a_plugin_that_does_not_work_says_why(failing, message):
    with pytest.raises(Unreachable, match=message):
        await run_plugin(failing, Connection(""))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        pytest.param(b"[]", "decoding stdout", id="a list"),
        pytest.param(b"{}", f"to use API version {V1}, plugin returned version None", id="nothing at all"),
        pytest.param(
            f'{{"apiVersion": "{V1}", "status": null}}'.encode(), "didn't return a status field", id="a null status"
        ),
        pytest.param(
            printed(V1BETA1, token="t"),
            f"exec plugin is configured to use API version {V1}, plugin returned version {V1BETA1}",
            id="another version",
        ),
        pytest.param(printed(), "exec plugin didn't return a token or cert/key pair", id="nothing in it"),
        pytest.param(
            printed(clientCertificateData="C"), "exec plugin returned only certificate or key, not both", id="no key"
        ),
        pytest.param(printed(token="t", expirationTimestamp="soon"), "'soon' is no time", id="an end that is no time"),
    ],
)
def test_what_a_plugin_printed_is_judged(out, message):
    with pytest.raises(Unreachable, match=message):
        read_exec_credential(ExecPlugin("x"), out)


@pytest.mark.parametrize(
    "moment", ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00.123456789+01:00", "2026-01-01T00:00:00"]
)
def test_an_end_in_any_form_of_iso_time_is_understood(moment):
    credential = read_exec_credential(ExecPlugin("x"), printed(token="t", expirationTimestamp=moment))

    assert not credential.is_fresh()
    assert credential.expires.replace(microsecond=0) == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def started(monkeypatch):
    """A queue of the child processes that were started."""
    start, processes = asyncio.create_subprocess_exec, asyncio.Queue()

    async def noticed(*arguments, **settings):
        process = await start(*arguments, **settings)
        processes.put_nowait(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noticed)
    return processes


async def test_a_plugin_whose_caller_gives_up_is_stopped(started):
    asking = asyncio.create_task(run_plugin(plugin("import time; time.sleep(60)"), Connection("")))
    process = await started.get()

    asking.cancel()
    await asyncio.wait({asking})

    assert asking.cancelled()
    assert process.returncode is not None


async def test_a_plugin_that_hangs_is_stopped(monkeypatch):
    monkeypatch.setattr("fleetqueue.client.credentials.EXEC_SECONDS", 0.01)

    with pytest.raises(Unreachable, match=r"gave no answer within 0\.01 s"):
        await run_plugin(plugin("import time; time.sleep(60)"), Connection(""))

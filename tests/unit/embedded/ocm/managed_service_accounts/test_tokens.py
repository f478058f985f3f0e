"""When a token is replaced, and what is written then."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api import durations
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Secret, secret
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE, ManagedServiceAccount
from fleetqueue.embedded.ocm.managed_service_accounts import tokens
from fleetqueue.testing.builders import condition

ISSUED = datetime(2026, 1, 1, tzinfo=UTC)
SUBJECT = f"system:serviceaccount:{AGENT_NAMESPACE}:app"


def signed(claims):
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"header.{payload}.signature"


def account(*, hours=10, is_reported=True, validity="10h"):
    status = {
        "expirationTimestamp": timestamp(ISSUED + timedelta(hours=hours)),
        "tokenSecretRef": {"name": "app", "lastRefreshTimestamp": timestamp(ISSUED)},
    }
    manifest = ManagedServiceAccount.manifest("app", "cluster1", spec={"rotation": {"validity": validity}})
    manifest["metadata"]["uid"] = "1"
    return ManagedServiceAccount.view({**manifest, "status": status if is_reported else {}})


def held(token):
    return Secret.view(secret("app", "cluster1", {"token": token}))


@pytest.mark.parametrize(
    ("hours", "is_reported", "live", "is_due"),
    [
        pytest.param(1, True, None, True, id="there is no secret"),
        pytest.param(1, False, held(signed({"sub": SUBJECT})), True, id="nothing was reported"),
        pytest.param(1, True, held(signed({"sub": SUBJECT})), False, id="it is young"),
        pytest.param(8, True, held(signed({"sub": SUBJECT})), False, id="at four fifths of its life"),
        pytest.param(8.001, True, held(signed({"sub": SUBJECT})), True, id="after four fifths of its life"),
        pytest.param(1, True, held(signed({"sub": f"{SUBJECT}s"})), True, id="it is another account's"),
        pytest.param(1, True, held(signed({})), True, id="it is nobody's"),
        pytest.param(1, True, held("nonsense"), True, id="it is no token"),
        pytest.param(1, True, held("a.b.c"), True, id="it is no token although it looks like one"),
        pytest.param(1, True, Secret.view(secret("app", "cluster1", {})), True, id="the secret is empty"),
    ],
)
def test_new_token_is_due(hours, is_reported, live, is_due):
    now = ISSUED + timedelta(hours=hours)

    assert tokens.is_due(account(is_reported=is_reported), live, AGENT_NAMESPACE, now) == is_due


@pytest.mark.parametrize(
    ("hours", "seconds"),
    [
        pytest.param(0, 8 * 3600 + 5, id="new"),
        pytest.param(7, 3600 + 5, id="an hour before"),
        pytest.param(9, 5, id="past it"),
    ],
)
def test_next_look_is_a_little_after_the_moment_of_renewal(hours, seconds):
    assert tokens.next_look(account(), ISSUED + timedelta(hours=hours)) == seconds


def test_worker_that_gives_less_is_asked_sooner():
    assert tokens.refresh_moment(account(hours=1, validity="8640h0m0s")) == ISSUED + timedelta(minutes=48)


def test_token_is_asked_for_as_long_as_the_account_wants():
    assert tokens.token_request(account(validity="1h30m"), "ns")["spec"] == {"expirationSeconds": 5400}


def test_secret_has_two_entries_a_label_and_an_owner_that_does_not_control_it():
    made = tokens.secret_manifest(account(), token="t", ca="c")

    assert made["type"] == "Opaque"
    assert sorted(made["data"]) == ["ca.crt", "token"]
    assert made["metadata"]["labels"] == {"authentication.open-cluster-management.io/is-managed-serviceaccount": "true"}
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "authentication.open-cluster-management.io/v1beta1",
            "kind": "ManagedServiceAccount",
            "name": "app",
            "uid": "1",
        }
    ]


def test_rewritten_secret_keeps_labels_of_others_and_loses_their_entries():
    live = secret("app", "cluster1", {"token": "old", "more": "x"}, labels={"theirs": "yes"})

    made = tokens.rewritten(live, tokens.secret_manifest(account(), token="t", ca="c"))

    assert sorted(made["data"]) == ["ca.crt", "token"]
    assert made["metadata"]["labels"]["theirs"] == "yes"
    assert len(made["metadata"]["labels"]) == 2


def test_failure_leaves_what_was_said_of_the_secret():
    live = [condition("SecretCreated", since=ISSUED), condition("TokenReported", since=ISSUED)]

    status = tokens.failed(live, "why", ISSUED + timedelta(hours=1))

    created, reported = status["conditions"]
    assert created == live[0]
    assert (reported["status"], reported["reason"], reported["message"]) == ("False", "TokenReportFailed", "why")
    assert reported["lastTransitionTime"] == timestamp(ISSUED + timedelta(hours=1))
    assert list(status) == ["conditions"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("8640h0m0s", 31104000),
        ("1.5h", 5400),
        ("90s", 90),
        ("500ms", 0.5),
        ("-1m", -60),
        ("0", 0),
        ("1h0m0.5s", 3600.5),
    ],
)
def test_durations_are_read_as_go_reads_them(text, seconds):
    assert durations.parsed(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "1d", "h", "1h ", "one hour"])
def test_what_is_no_duration_is_refused_in_gos_words(text):
    with pytest.raises(ValueError, match=f'time: invalid duration "{text}"'):
        durations.parsed(text)

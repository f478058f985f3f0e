"""Who asks, by what comes with a request."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.auth.authentication import (
    Authentication,
    Certificate,
    RequestCredentials,
    subject_of,
)
from fleetqueue.embedded.apiserver.auth.service_account_tokens import Bound, ServiceAccountTokens, TokenError
from fleetqueue.embedded.apiserver.auth.users import ANONYMOUS, User
from fleetqueue.testing.virtual_time import ShiftedClock

ISSUER = "https://kubernetes.default.svc"
BOT = ("ns", "bot", "uid-of-bot")


@pytest.fixture
def uids():
    """The objects that there are."""
    return {"/core/serviceaccounts/ns/bot": "uid-of-bot", "/core/secrets/ns/s": "uid-of-s"}


@pytest.fixture
def accounts(uids):
    key = ec.generate_private_key(ec.SECP256R1())
    return ServiceAccountTokens(key, ISSUER, uids.get)


@pytest.fixture
def authentication(accounts):
    return Authentication(accounts, [ISSUER], {"secret": User("admin", ("system:masters",))})


def sign(accounts, seconds=3600, audiences=(ISSUER,), **options):
    return accounts.sign(BOT, audiences=audiences, seconds=seconds, **options)[0]


def test_without_a_credential_it_is_nobody_in_particular(authentication):
    assert authentication.user(RequestCredentials()) == ANONYMOUS


def test_a_certificate_names_a_user_and_groups(authentication):
    user = authentication.user(RequestCredentials(certificate=("alice", ("team",))))

    assert user == User("alice", ("team", "system:authenticated"))


def test_a_token_of_the_server_itself(authentication):
    assert authentication.user(RequestCredentials(token="secret")).groups == ("system:masters", "system:authenticated")


def test_a_token_of_a_service_account(authentication, accounts):
    user = authentication.user(RequestCredentials(token=sign(accounts)))

    assert (user.name, user.uid) == ("system:serviceaccount:ns:bot", "uid-of-bot")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert list(user.extra) == ["authentication.kubernetes.io/credential-id"]


def test_a_token_that_does_not_hold_is_refused(authentication):
    with pytest.raises(errors.Unauthorized) as refused:
        authentication.user(RequestCredentials(token="nonsense"))

    assert (refused.value.message, refused.value.reason) == ("Unauthorized", "Unauthorized")


def test_a_token_ends(accounts):
    token = sign(accounts, seconds=600)

    with clock.use(ShiftedClock(timedelta(seconds=601))), pytest.raises(TokenError, match="expired"):
        accounts.verify(token, [ISSUER])


def test_a_token_for_somebody_else_is_none_here(accounts):
    with pytest.raises(TokenError, match="audience"):
        accounts.verify(sign(accounts, audiences=["vault"]), [ISSUER])


@pytest.mark.parametrize("now", [None, "another-uid"], ids=["deleted", "made anew"])
def test_a_token_dies_with_its_account(accounts, uids, now):
    token = sign(accounts)
    uids["/core/serviceaccounts/ns/bot"] = now

    with pytest.raises(TokenError, match="is gone"):
        accounts.verify(token, [ISSUER])


def test_a_token_dies_with_the_object_that_it_is_bound_to(accounts, uids):
    token = sign(accounts, bound=Bound("secrets", "s", "uid-of-s"))
    accounts.verify(token, [ISSUER])
    del uids["/core/secrets/ns/s"]

    with pytest.raises(TokenError, match="its secrets is gone"):
        accounts.verify(token, [ISSUER])


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda token: token[:-4], id="cut"),
        pytest.param(lambda token: token.replace(".", "", 1), id="two parts"),
        pytest.param(lambda token: token.rpartition(".")[0] + ".", id="without a signature"),
        pytest.param(lambda token: "x" + token, id="another header"),
        pytest.param(lambda token: token.rpartition(".")[0] + "." + "A" * 86, id="a forged signature"),
        pytest.param(lambda token: "..", id="empty parts"),
        pytest.param(lambda token: "\u00e4.b.c", id="not even ASCII"),
    ],
)
def test_a_spoilt_token_is_refused(accounts, spoil):
    with pytest.raises(TokenError):
        accounts.verify(spoil(sign(accounts)), [ISSUER])


def test_the_subject_of_a_certificate():
    subject = ((("organizationName", "a"),), (("organizationName", "b"),), (("commonName", "alice"),))

    assert subject_of({"subject": subject}) == Certificate("alice", ("a", "b"))
    assert subject_of({}) is None


def test_a_certificate_is_known_by_its_fingerprint(authentication):
    shown = subject_of({"subject": ((("commonName", "alice"),),)}, b"the bytes")

    user = authentication.user(RequestCredentials(certificate=shown))

    assert user.extra == {"authentication.kubernetes.io/credential-id": (f"X509SHA256={shown.fingerprint}",)}


def test_a_certificate_that_has_ended_is_refused_also_on_a_connection_that_stands(authentication):
    ended = Certificate("alice", (), until=clock.now() - timedelta(seconds=1))

    with pytest.raises(errors.Unauthorized):
        authentication.user(RequestCredentials(certificate=ended))


def test_the_end_of_a_certificate_is_read():
    shown = subject_of({"subject": ((("commonName", "alice"),),), "notAfter": "Jan  1 00:00:00 2030 GMT"})

    assert shown.until == datetime(2030, 1, 1, tzinfo=UTC)

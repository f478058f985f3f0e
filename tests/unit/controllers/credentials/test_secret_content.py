"""A credential as it stands in its secret."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api.core_v1 import Secret
from fleetqueue.controllers.credentials.secret_content import EXPIRES, ISSUED, Issued, read, secret_manifest

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)
CREDENTIAL = Issued("kind: Config\n", MIDNIGHT, MIDNIGHT + timedelta(hours=24), "somebody")


def written(**changes):
    manifest = secret_manifest("c1", "kueue-system", CREDENTIAL, None)
    return Secret.view({**manifest, **changes})


@pytest.mark.parametrize(
    ("hours", "renewal"),
    [
        pytest.param(24, MIDNIGHT + timedelta(hours=19, minutes=12), id="of a day, five hours are left"),
        pytest.param(1, MIDNIGHT + timedelta(minutes=48), id="a worker that allows an hour only"),
    ],
)
def test_renewal_comes_at_four_fifths_of_the_life_that_the_worker_gave(hours, renewal):
    assert Issued("", MIDNIGHT, MIDNIGHT + timedelta(hours=hours), "somebody").renewal == renewal


def test_what_was_written_is_read_back():
    assert read(written()) == CREDENTIAL


@pytest.mark.checklist("ENV-7")
def test_secret_is_opaque_with_exactly_one_key():
    secret = written()

    assert (secret.name, secret.namespace, secret.type) == ("kueue-admin-c1-kubeconfig", "kueue-system", "Opaque")
    assert list(secret.data) == ["kubeconfig"]
    assert secret.metadata.labels == {"fleetqueue.dev/cluster": "c1"}


@pytest.mark.parametrize(
    "secret",
    [
        pytest.param(None, id="no secret"),
        pytest.param(written(data={"kubeconfig": base64.b64encode(b"kind: Other").decode()}), id="another content"),
        pytest.param(written(data={}), id="no content"),
        pytest.param(written(data={"kubeconfig": "!"}), id="no text"),
        pytest.param(written(data={**written().data, "more": ""}), id="one entry more"),
        pytest.param(written(metadata={"name": "x"}), id="no annotations"),
        pytest.param(
            written(metadata={"name": "x", "annotations": {**written().metadata.annotations, EXPIRES: "tomorrow"}}),
            id="an end that is no time",
        ),
        pytest.param(
            written(metadata={"name": "x", "annotations": {ISSUED: "2026-01-01T00:00:00Z"}}),
            id="no end",
        ),
    ],
)
def test_secret_that_is_not_as_we_wrote_it_counts_as_none(secret):
    assert read(secret) is None


def test_entries_that_somebody_added_are_to_go():
    live = written(data={**written().data, "token": "YQ=="})

    manifest = secret_manifest("c1", "kueue-system", CREDENTIAL, live)

    assert manifest["data"] == {**written().data, "token": None}


def test_token_does_not_show_when_a_credential_is_printed():
    assert "kind: Config" not in repr(CREDENTIAL)

"""Client certificates in a process: whom they name, and when they are not believed."""

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fleetqueue.api import errors
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.fleets.client_certificates import ClientAuthority, NotBelieved
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.lab.certificates import Authority, key_pem, subject
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

KEY = ec.generate_private_key(ec.SECP256R1())
HOUR = 3600


def request(name="agent", groups=("agents",)):
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject(name, groups))
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def authority():
    return ClientAuthority(Authority.new("ca"))


async def test_a_signed_request_names_its_user(authority):
    shown = authority.believed(await authority.sign(request(), HOUR), key_pem(KEY))

    assert (shown.name, shown.organizations) == ("agent", ("agents",))


@pytest.mark.parametrize(("seconds", "days"), [(HOUR, 1 / 24), (None, 365)])
async def test_it_lasts_as_long_as_was_asked_for_or_a_year(authority, seconds, days):
    signed = x509.load_pem_x509_certificate(await authority.sign(request(), seconds))

    lasts = signed.not_valid_after_utc - signed.not_valid_before_utc
    assert lasts == datetime.timedelta(days=days, minutes=5)


async def test_it_ends(authority):
    signed = await authority.sign(request(), HOUR)
    await advance(HOUR)

    with pytest.raises(NotBelieved, match="expired"):
        authority.believed(signed, key_pem(KEY))


async def test_another_authority_or_another_key_proves_nothing(authority):
    foreign = await ClientAuthority(Authority.new("ca")).sign(request(), HOUR)
    own = await authority.sign(request(), HOUR)

    with pytest.raises(NotBelieved, match="unknown authority"):
        authority.believed(foreign, key_pem(KEY))
    with pytest.raises(NotBelieved, match="private key"):
        authority.believed(own, key_pem(ec.generate_private_key(ec.SECP256R1())))


async def test_what_is_no_request_is_refused(authority):
    with pytest.raises(ValueError):
        await authority.sign(b"nothing", HOUR)


async def test_a_cluster_is_opened_by_certificate(fleet):
    hub = fleet.hub
    certificate = await hub.authority.sign(request("kubernetes-admin", ["system:masters"]), HOUR)
    client = fleet.dial(Connection(hub.url, hub.ca, certificate, key_pem(KEY)))

    assert await client.read("/api/v1/namespaces/default")


async def test_a_kubeconfig_that_trusts_somebody_else_reaches_nothing(fleet):
    with pytest.raises(errors.Unreachable, match="unknown authority"):
        fleet.dial(Connection(fleet.hub.url, b"another", token=fleet.hub.admin_token))


async def test_a_certificate_of_another_cluster_opens_nothing(fleet):
    certificate = await fleet.workers[0].authority.sign(request(), HOUR)

    with pytest.raises(errors.Unreachable, match="unknown authority"):
        fleet.dial(Connection(fleet.hub.url, None, certificate, key_pem(KEY)))


@pytest.fixture
async def fleet():
    async with EmbeddedFleet.open(1) as fleet:
        yield fleet

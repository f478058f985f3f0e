"""Approved requests of clients get their certificate."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fleetqueue.api.certificates_v1 import CLIENT_SIGNER, CertificateSigningRequest
from fleetqueue.embedded.kubernetes.certificate_requests import CertificateRequestController
from fleetqueue.testing.virtual_time import START, advance, settle

pytestmark = pytest.mark.virtual_time

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent")])
KEY = ec.generate_private_key(ec.SECP256R1())
PEM = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(KEY, hashes.SHA256())
REQUEST = base64.b64encode(PEM.public_bytes(serialization.Encoding.PEM)).decode()


def certificate():
    """Make any certificate: the API server looks whether it is one."""
    start = START.replace(tzinfo=None)
    builder = x509.CertificateBuilder().subject_name(NAME).issuer_name(NAME).public_key(KEY.public_key())
    builder = builder.serial_number(1).not_valid_before(start).not_valid_after(start.replace(year=2027))
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


ISSUED = certificate()


async def sign(request, seconds):
    if seconds == 601:
        raise ValueError("not for so long")
    return ISSUED


def signing(env):
    return env.running(CertificateRequestController, CertificateRequestController={"sign": sign})


async def ask(env, *, approve=True, signer=CLIENT_SIGNER, usages=("client auth",), **spec):
    body = {"request": REQUEST, "signerName": signer, "usages": list(usages), **spec}
    await env.add(CertificateSigningRequest, "agent", spec=body)
    if approve:
        approved = {"type": "Approved", "status": "True", "reason": "Test", "message": "", "lastUpdateTime": None}
        resource = CertificateSigningRequest.resource
        await env.client.merge(resource, "agent", "", {"status": {"conditions": [approved]}}, subresource="approval")
    await settle()


async def status(env):
    return (await env.get(CertificateSigningRequest, "agent")).get("status") or {}


async def test_an_approved_request_gets_its_certificate(env):
    async with signing(env):
        await ask(env)

        assert base64.b64decode((await status(env))["certificate"]) == ISSUED


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"approve": False}, id="not approved"),
        pytest.param({"signer": "example.com/other"}, id="another signer's"),
    ],
)
async def test_others_are_left_alone(env, options):
    async with signing(env):
        await ask(env, **options)

        assert env.writes == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"usages": ["server auth"]}, "invalid usage for client certificate: server auth"),
        ({"expirationSeconds": 601}, "not for so long"),
    ],
)
async def test_what_cannot_be_signed_fails(env, options, message):
    async with signing(env):
        await ask(env, **options)

        failed = next(one for one in (await status(env))["conditions"] if one["type"] == "Failed")
        assert (failed["reason"], failed["message"]) == ("SignerValidationFailure", message)
        assert "certificate" not in await status(env)


async def test_a_signed_request_is_left_alone(env):
    async with signing(env) as (controller,):
        await ask(env)
        env.writes.clear()
        controller.wake("agent")
        await settle()

        assert env.writes == []


async def test_a_write_that_fails_is_tried_again(env):
    async with signing(env):
        env.fail_once("/status")
        await ask(env)
        await advance(1)

        assert (await status(env))["certificate"]

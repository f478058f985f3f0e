"""Who signs what, and for whom it is good."""

import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from fleetqueue.lab.certificates import API_ADDRESSES, API_NAMES, Authority, rsa_key, service_account_key
from fleetqueue.lab.pki import ensure_pki, read_pair


@pytest.fixture
def authority():
    return Authority.new("hub-ca")


def test_a_server_certificate_names_all_its_addresses(authority):
    pair = authority.server("kube-apiserver", dns=API_NAMES, addresses=API_ADDRESSES)

    names = x509.load_pem_x509_certificate(pair.certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    addresses = {str(address) for address in names.value.get_values_for_type(x509.IPAddress)}
    assert addresses == {"127.0.0.1", "::1", "10.0.0.1"}
    assert {"localhost", "kubernetes.default.svc"} <= set(names.value.get_values_for_type(x509.DNSName))
    assert ipaddress.ip_address("127.0.0.1") in names.value.get_values_for_type(x509.IPAddress)


def test_a_client_certificate_says_who_and_in_which_groups(authority):
    subject = x509.load_pem_x509_certificate(authority.client("admin", ["system:masters"]).certificate).subject

    assert subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "admin"
    assert subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:masters"


def test_the_authority_signed_its_certificates(authority):
    leaf = x509.load_pem_x509_certificate(authority.client("admin").certificate)

    leaf.verify_directly_issued_by(authority.certificate)


def test_a_loaded_authority_goes_on_signing(authority):
    leaf = x509.load_pem_x509_certificate(Authority.load(authority.pem).client("admin").certificate)

    leaf.verify_directly_issued_by(authority.certificate)


def test_the_webhook_authority_has_the_key_that_kueue_reads():
    pair = Authority.new("kueue-ca", dns=["kueue-ca"], key=rsa_key()).pem

    assert pair.key.startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    assert isinstance(serialization.load_pem_private_key(pair.key, None), rsa.RSAPrivateKey)


def test_the_service_account_keys_are_one_pair():
    private, public = service_account_key()

    key = serialization.load_pem_private_key(private, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == serialization.load_pem_public_key(public)


def test_keys_are_private_and_made_once(tmp_path):
    ensure_pki("hub", tmp_path)
    before = read_pair(tmp_path, "ca")
    ensure_pki("hub", tmp_path)

    assert read_pair(tmp_path, "ca") == before
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}

"""Client certificates of an embedded cluster: signed for whom was approved, and believed without sockets too."""

from datetime import timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from fleetqueue import clock
from fleetqueue.client.certificates import long_names, subject_of
from fleetqueue.embedded.apiserver.auth.authentication import Certificate
from fleetqueue.lab.certificates import Authority, certificate_pem, key_usage

YEAR: Final = timedelta(days=365)
"""What a certificate gets that asks for no time, as in Kubernetes."""
BACKDATED: Final = timedelta(minutes=5)


class NotBelieved(Exception):
    """A certificate proves nothing here; the text says why."""


class ClientAuthority:
    """Who signs a cluster's client certificates."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    async def sign(self, request: bytes, seconds: int | None) -> bytes:
        """Make a certificate (PEM) of a request (PEM); raises ValueError where that is none."""
        asked = x509.load_pem_x509_csr(request)
        if not asked.is_signature_valid:
            raise ValueError("the request is not signed by its own key")
        now, issuer = clock.now(), self._authority.certificate
        with long_names():
            subject = asked.subject
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject)
            .public_key(asked.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACKDATED)
            .not_valid_after(now + (YEAR if seconds is None else timedelta(seconds=seconds)))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._authority.key.public_key()), critical=False
            )
        )
        return certificate_pem(builder.sign(self._authority.key, hashes.SHA256()))

    def believed(self, certificate: bytes, key: bytes) -> Certificate:
        """Return whom a certificate (PEM) names whose key is shown with it; raises NotBelieved."""
        try:
            shown = x509.load_pem_x509_certificate(certificate)
            holder = serialization.load_pem_private_key(key, password=None).public_key()
            shown.verify_directly_issued_by(self._authority.certificate)
        except (ValueError, TypeError, InvalidSignature):
            raise NotBelieved("certificate signed by unknown authority") from None
        if holder != shown.public_key():
            raise NotBelieved("the private key is not that of the certificate")
        if not shown.not_valid_before_utc <= clock.now() < shown.not_valid_after_utc:
            raise NotBelieved("certificate has expired or is not yet valid")
        with long_names():
            subject = subject_of(shown.subject)
        fingerprint = shown.fingerprint(hashes.SHA256()).hex()
        return Certificate(subject.name, tuple(subject.groups), fingerprint, shown.not_valid_after_utc)

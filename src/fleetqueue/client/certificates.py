"""Keys, requests and client certificates as PEM: how somebody becomes a user of a cluster by a certificate."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509


class CertificateSubject(NamedTuple):
    """Whom a certificate is for: a user and its groups, as Kubernetes reads them."""

    name: str
    groups: Sequence[str]


class Content(NamedTuple):
    """What a certificate says; its time is that in which all certificates of its chain are valid."""

    subject: CertificateSubject
    since: datetime
    until: datetime

    def share_left(self, now: datetime) -> float:
        """Return how much of its time is left, as a share of the whole; less than nothing where it is over."""
        return (self.until - now) / (self.until - self.since)


def new_request(subject: CertificateSubject, host: str = "") -> tuple[bytes, bytes]:
    """Make a key, and a request for a certificate for it; both also name a host, where one is given."""
    from cryptography import x509  # slow to import, for what an agent does once a year
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(_written(subject))
    if host:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return private, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def subject_of_request(pem: bytes) -> CertificateSubject | None:
    """Return whom a request is for; None where it cannot be read."""
    from cryptography import x509

    try:
        with long_names():
            return subject_of(x509.load_pem_x509_csr(pem).subject)
    except ValueError:
        return None


def content_of(pem: bytes) -> Content | None:
    """Read a certificate and its chain; None where they cannot be read."""
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(pem)
        with long_names():
            subject = subject_of(chain[0].subject)
    except ValueError:
        return None
    since = max(certificate.not_valid_before_utc for certificate in chain)
    return Content(subject, since, min(certificate.not_valid_after_utc for certificate in chain))


def fits(certificate: bytes, key: bytes) -> bool:
    """Tell whether a certificate is for a key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
        return public == serialization.load_pem_private_key(key, password=None).public_key()
    except ValueError:
        return False


def subject_of(name: "x509.Name") -> CertificateSubject:
    from cryptography.x509.oid import NameOID

    common = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return CertificateSubject(str(common[-1].value) if common else "", tuple(str(group.value) for group in groups))


@contextmanager
def long_names() -> Iterator[None]:
    """Let names be longer than X.509 has it: those of OCM's agents are, and Go takes them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Attribute's length must be")
        yield


def _written(subject: CertificateSubject) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    groups = [(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    with long_names():
        return x509.Name(
            [
                x509.NameAttribute(oid, text, _validate=False)
                for oid, text in (*groups, (NameOID.COMMON_NAME, subject.name))
            ]
        )

"""Keys and certificates of one cluster, made once and kept with its state.

EC P-256 throughout, because an RSA key costs fifty milliseconds. The one exception is the authority for Kueue's
webhook: Kueue's own certificate code reads its key as PKCS#1 RSA.
"""

import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fleetqueue.lab.pki import KeyPair

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

# Long enough that a laboratory never meets it, short enough for every client's limit on leaf certificates.
LIFETIME: Final = datetime.timedelta(days=3650)
# A clock that runs behind in a virtual machine must not refuse what was just signed.
BACKDATED: Final = datetime.timedelta(hours=1)

API_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
API_ADDRESSES: Final = ("127.0.0.1", "::1", "10.0.0.1")


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority that can sign."""

    certificate: x509.Certificate
    key: PrivateKey

    @property
    def pem(self) -> KeyPair:
        """The authority as PEM."""
        return KeyPair(certificate_pem(self.certificate), key_pem(self.key))

    @classmethod
    def new(cls, name: str, *, dns: Iterable[str] = (), key: PrivateKey | None = None) -> "Authority":
        """Make a self-signed authority."""
        key = key or ec.generate_private_key(ec.SECP256R1())
        builder = draft(subject(name), subject(name), key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(key_usage(signs_certificates=True), critical=True)
        names = [x509.DNSName(entry) for entry in dns]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, pair: KeyPair) -> "Authority":
        """The authority that was written as PEM."""
        key = serialization.load_pem_private_key(pair.key, password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey)
        return cls(x509.load_pem_x509_certificate(pair.certificate), key)

    def client(self, name: str, groups: Iterable[str] = ()) -> KeyPair:
        """A certificate that makes its holder this user in these groups."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = draft(subject(name, groups), self.certificate.subject, key.public_key())
        return self.sign(builder, key, ExtendedKeyUsageOID.CLIENT_AUTH)

    def server(self, name: str, *, dns: Iterable[str] = (), addresses: Iterable[str] = ()) -> KeyPair:
        """A certificate for a server that is reached under these names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        names: list[x509.GeneralName] = [x509.DNSName(entry) for entry in dns]
        names += [x509.IPAddress(ipaddress.ip_address(entry)) for entry in addresses]
        builder = draft(subject(name), self.certificate.subject, key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return self.sign(builder, key, ExtendedKeyUsageOID.SERVER_AUTH)

    def sign(self, builder: x509.CertificateBuilder, key: PrivateKey, usage: x509.ObjectIdentifier) -> KeyPair:
        """Finish a leaf certificate."""
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        # Python 3.13 refuses a leaf without it.
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        return KeyPair(certificate_pem(builder.sign(self.key, hashes.SHA256())), key_pem(key))


def service_account_key() -> tuple[bytes, bytes]:
    """The private and the public key that sign and verify service-account tokens (ES256)."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key_pem(key), public


def rsa_key() -> rsa.RSAPrivateKey:
    """An RSA key, for the one reader that takes no other."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def draft(
    owner: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey | rsa.RSAPublicKey
) -> x509.CertificateBuilder:
    """What every certificate has: who, by whom, until when."""
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(owner).issuer_name(issuer).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    return builder.not_valid_before(now - BACKDATED).not_valid_after(now + LIFETIME)


def subject(name: str, groups: Iterable[str] = ()) -> x509.Name:
    """A common name, and one organization for each group, as Kubernetes reads them."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """The usages of an authority or of a leaf."""
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """A certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: PrivateKey) -> bytes:
    """A private key as PEM, in the format that the oldest readers of its type know (SEC1, PKCS#1)."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )

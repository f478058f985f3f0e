"""Tokens of service accounts: signed with the cluster's own key (ES256), valid while their account exists."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from fleetqueue import clock
from fleetqueue.embedded.apiserver.auth.base64url import decode, encode
from fleetqueue.embedded.apiserver.auth.users import SERVICE_ACCOUNT_PREFIX, User, service_account
from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.storage.keys import key_of, parts_of

CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
KEY_ID: Final = "fleetqueue"
HEADER: Final = encode(orjson.dumps({"alg": "ES256", "kid": KEY_ID}))
SCALAR_BYTES: Final = 32
MOST_KNOWN: Final = 1000
ALGORITHM: Final = ec.ECDSA(hashes.SHA256())

FindUid = Callable[[str], str | None]
"""Returns the uid of an object (service account, pod, secret, node) by its key in the storage; None where there is
none."""


class TokenError(Exception):
    """A token that does not hold; says why, for who reviews tokens."""


class NoToken(TokenError):
    """Something that is no token of this cluster at all."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The object without which a token is invalid, beside its account."""

    resource: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A token whose signature was checked: its claims, its user, and the objects that must still exist."""

    claims: Mapping[str, Any]
    user: User
    references: Sequence[tuple[str, str | None]]
    """Key in the storage and uid of each."""


@dataclass(frozen=True, slots=True)
class ServiceAccountTokens:
    """Signs and verifies the tokens of one cluster."""

    key: ec.EllipticCurvePrivateKey
    issuer: str
    find_uid: FindUid
    _known: dict[str, VerifiedToken] = field(default_factory=dict, repr=False, compare=False)
    """Tokens whose signature was checked. What can change is checked every time: the time, and which objects exist."""

    def sign(
        self,
        account: tuple[str, str, str],
        *,
        audiences: Sequence[str],
        seconds: int,
        bound: Bound | None = None,
    ) -> tuple[str, int]:
        """Return a token for an account (namespace, name, uid), and the second of its end."""
        namespace, name, uid = account
        now = int(clock.now().timestamp())
        about: dict[str, Any] = {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}}
        if bound is not None:
            about[bound.resource.removesuffix("s")] = {"name": bound.name, "uid": bound.uid}
        claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": self.issuer,
            "jti": clock.uid(),
            "kubernetes.io": about,
            "nbf": now,
            "sub": f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}",
        }
        signed = f"{HEADER}.{encode(orjson.dumps(claims))}"
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ALGORITHM))
        signature = r.to_bytes(SCALAR_BYTES, "big") + s.to_bytes(SCALAR_BYTES, "big")
        return f"{signed}.{encode(signature)}", now + seconds

    def verify(self, token: str, audiences: Sequence[str]) -> tuple[User, Sequence[str]]:
        """Return whom a token stands for, and for which of the audiences; raises TokenError."""
        known = self._known.get(token) or self._read(token)
        claims = known.claims
        held = claims.get("aud") or ()
        accepted = [audience for audience in audiences if audience in held]
        if not accepted:
            both = [f"[{' '.join(map(quoted, names))}]" for names in (claims.get("aud") or (), audiences)]
            raise TokenError("token audiences {} is invalid for the target audiences {}".format(*both))
        now = clock.now().timestamp()
        if claims.get("iss") != self.issuer or not claims.get("nbf", now) <= now < claims.get("exp", 0):
            raise TokenError("service account token has expired")
        for key, uid in known.references:
            if self.find_uid(key) != uid:
                raise TokenError(f"its {parts_of(key).resource} is gone")
        return known.user, accepted

    def _read(self, token: str) -> VerifiedToken:
        """Check the signature of a token, and remember what it says, so that it is not checked again."""
        claims = self._verified(token)
        known = VerifiedToken(claims, _user(claims), tuple(_references(claims)))
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[token] = known
        return known

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            header, claims, signature = token.split(".")
            scalars = decode(signature)
            if header != HEADER or len(scalars) != 2 * SCALAR_BYTES:
                raise NoToken("not one of ours")
            r, s = (int.from_bytes(part, "big") for part in (scalars[:SCALAR_BYTES], scalars[SCALAR_BYTES:]))
            der = encode_dss_signature(r, s)
            self.key.public_key().verify(der, f"{header}.{claims}".encode(), ALGORITHM)
            payload = orjson.loads(decode(claims))
        except (ValueError, InvalidSignature) as error:
            raise NoToken("not a token, or a forged one") from error
        if not isinstance(payload, dict):
            raise NoToken("not a token")
        return payload


def _references(claims: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Return the account, and the object without which a token is invalid."""
    about = claims.get("kubernetes.io") or {}
    namespace = about.get("namespace", "")
    account = about.get("serviceaccount") or {}
    yield key_of("", "serviceaccounts", namespace, account.get("name", "")), account.get("uid")
    for kind in ("pod", "secret", "node"):
        if kind in about:
            place = "" if kind == "node" else namespace
            yield key_of("", f"{kind}s", place, about[kind].get("name", "")), about[kind].get("uid")


def _user(claims: Mapping[str, Any]) -> User:
    about = claims.get("kubernetes.io") or {}
    account = about.get("serviceaccount") or {}
    extra = {CREDENTIAL_ID: (f"JTI={claims.get('jti', '')}",)}
    for kind in ("node", "pod"):
        if kind in about:
            extra[f"authentication.kubernetes.io/{kind}-name"] = (about[kind].get("name", ""),)
            extra[f"authentication.kubernetes.io/{kind}-uid"] = (about[kind].get("uid", ""),)
    return service_account(about.get("namespace", ""), account.get("name", ""), account.get("uid", ""), **extra)

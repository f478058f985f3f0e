"""The issuer of service account tokens and its public key, for those who verify tokens without the server."""

from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.base64url import encode
from fleetqueue.embedded.apiserver.auth.service_account_tokens import KEY_ID, SCALAR_BYTES, ServiceAccountTokens

CONFIGURATION: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
KEYS_TYPE: Final = "application/jwk-set+json"


def configuration(tokens: ServiceAccountTokens) -> Manifest:
    return {
        "issuer": tokens.issuer,
        "jwks_uri": f"{tokens.issuer}{KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


def keys(tokens: ServiceAccountTokens) -> Manifest:
    numbers = tokens.key.public_key().public_numbers()
    x, y = (encode(number.to_bytes(SCALAR_BYTES, "big")) for number in (numbers.x, numbers.y))
    return {"keys": [{"use": "sig", "kty": "EC", "kid": KEY_ID, "crv": "P-256", "alg": "ES256", "x": x, "y": y}]}


def check_accepted(accept: str) -> None:
    """Refuse who does not take a set of keys."""
    types = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    if accept and not {"*/*", KEYS_TYPE} & set(types):
        message = f"406: Not Acceptable\n\nAvailable representations: {KEYS_TYPE}"
        raise errors.ApiError(message, reason="NotAcceptable", code=406)

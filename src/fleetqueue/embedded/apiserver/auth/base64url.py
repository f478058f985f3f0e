"""Base64 for URLs, without padding, as tokens have it."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode


def encode(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Raises ValueError where the text is not base64."""
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError(str(error)) from error

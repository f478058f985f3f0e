"""What is never shown of core objects."""

from fleetqueue.api.core_v1 import Secret, secret


def test_a_secret_shows_its_name_only():
    shown = repr(Secret.view(secret("s", "ns", {"token": "s3cret"})))

    assert shown == 'Secret "ns/s"'

"""What an operator can choose about credentials."""

import pytest

from fleetqueue.controllers.credentials.settings import CredentialsSettings


def test_lifetime_shorter_than_the_api_issues_is_refused():
    with pytest.raises(ValueError, match="lifetime is 60 but must be 600 or more"):
        CredentialsSettings(lifetime=60)

"""What the plugin's command line makes of its environment; what it prints is tested with the profiles."""

import pytest

from fleetqueue.cli.exit_codes import CommandFailure
from fleetqueue.cli.secret_reader import exec_info


def test_what_the_plugin_is_handed_is_read():
    assert exec_info('{"kind": "ExecCredential"}') == {"kind": "ExecCredential"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("", "it is not set; this is a plugin, see --help", id="a person calls it"),
        pytest.param("{", "unexpected end of data", id="broken"),
        pytest.param("[]", "it is no map", id="a list"),
    ],
)
def test_what_cannot_be_read_is_said(text, why):
    with pytest.raises(CommandFailure, match=f"failed to read KUBERNETES_EXEC_INFO: {why}"):
        exec_info(text)

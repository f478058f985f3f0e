"""The labels that a cluster joins with."""

import pytest

from fleetqueue.cli.exit_codes import CommandFailure
from fleetqueue.cli.join import labels


def test_labels_are_read():
    assert labels(["a=b", "c=", "d=e=f"]) == {"a": "b", "c": "", "d": "e=f"}


@pytest.mark.parametrize("wrong", ["a", "=b"])
def test_a_wrong_label_is_named(wrong):
    with pytest.raises(CommandFailure, match="has the form key=value"):
        labels([wrong])

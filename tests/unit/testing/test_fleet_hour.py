"""An hour of ten clusters passes in seconds, and is always the same."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .fleet_hour import history

PROGRAM = Path(__file__).with_name("fleet_hour.py")


@pytest.mark.timeout(300)
def test_an_hour_of_ten_clusters_passes_in_seconds_and_is_the_same_under_another_hash_seed():
    other_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environ = {**os.environ, "PYTHONHASHSEED": other_seed}
    elsewhere = subprocess.Popen([sys.executable, PROGRAM], env=environ, stdout=subprocess.PIPE, text=True)
    began = time.process_time()

    digest, changes, ended = history(seed=7)

    assert time.process_time() - began < 60
    assert elsewhere.communicate()[0].split() == [digest, str(changes), str(ended)]
    assert ended > 40
    assert changes > 3600 / 10 * 10  # the nodes' leases alone

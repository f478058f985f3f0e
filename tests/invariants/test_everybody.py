"""Nobody runs the controllers of a room in a test without a second look at the end."""

import re
from pathlib import Path

ROOMS = Path(__file__).parents[1] / "unit" / "controllers"
EXCUSED = {
    "placement_admission/test_never_twice.py": "its process is killed at any moment",
    "kueue/test_manager.py": "it is about starting and stopping a whole Kueue",
    "kubernetes/conftest.py": "one of its controllers says again at every start whom it has met",
}


def test_controllers_are_run_with_a_second_look():
    alone = re.compile(r"running\((Manager\(|manager\.run)")

    found = {str(path.relative_to(ROOMS)) for path in ROOMS.rglob("*.py") if alone.search(path.read_text())}

    assert found == set(EXCUSED)

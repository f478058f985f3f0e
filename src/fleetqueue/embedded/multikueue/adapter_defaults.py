"""What most kinds of jobs have in common for MultiKueue."""

from fleetqueue.api.scheme import Manifest


class AdapterDefaults:
    labels = ""

    def why_not_managed(self, job: Manifest) -> str:
        return ""

    def is_to_run(self, job: Manifest) -> bool:
        return True

    def is_outdated(self, job: Manifest, copy: Manifest) -> bool:
        return False

    def followed(self, job: Manifest, copy: Manifest, workload: str) -> Manifest:
        return copy

    def workload_count(self, job: Manifest) -> int:
        return 1

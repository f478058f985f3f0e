"""Jobs that keep the templates of their pods in their spec.

A kind says where its templates are, and how it tells that it runs and how it ended; all else is alike.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import pod_set
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, merged, restored
from fleetqueue.embedded.kueue.jobs.suspendable_jobs import SuspendableJobs
from fleetqueue.rules.job_templates import JobTemplate

_NOTHING: Final[Mapping[str, Any]] = {}


class TemplateJobs(SuspendableJobs):
    @abstractmethod
    def templates(self, job: Manifest) -> list[JobTemplate]: ...

    def written_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        """Return a template as it is written, which is what is changed."""
        return value_at(job, template.field) or {}

    def pod_template(self, job: Manifest, template: JobTemplate) -> Manifest:
        """Return a template as its pods will have it; some kinds add to what is written."""
        return self.written_template(job, template)

    def topology(self, job: Manifest, template: JobTemplate) -> Mapping[str, Any]:
        """Return by which labels the pods of a template are numbered and grouped."""
        return _NOTHING

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        return [
            pod_set(template.name, self.pod_template(job, template), template.pods, **self.topology(job, template))
            for template in self.templates(job)
        ]

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        expected = len(self.templates(job))
        if len(infos) != expected:
            raise CannotStart(f"invalid podset infos: expecting {expected} podset, got {len(infos)}")
        return self.job_kind.with_suspension(self._changed(job, infos, merged), suspend=False)

    def restored(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        return self._changed(job, infos, restored) if len(infos) == len(self.templates(job)) else job

    def _changed(
        self, job: Manifest, infos: Sequence[PodSetInfo], change: Callable[[Manifest, PodSetInfo], Manifest]
    ) -> Manifest:
        for template, info in zip(self.templates(job), infos, strict=True):
            job = with_value(job, template.field, change(self.written_template(job, template), info))
        return job

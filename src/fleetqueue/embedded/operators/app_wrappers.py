"""Run AppWrappers: make what they wrap when they are resumed, watch it, and take it away when they stop.

Reads:   AppWrapper, Pod with the label of one; what they wrap
Writes:  what they wrap (create, delete), AppWrapper (finalizer; its status), Pod (delete, by force), Events
Mirrors: appwrapper internal/controller/appwrapper
Left out: its webhooks.
"""

from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.condition_lists import condition_status, is_true
from fleetqueue.api.conditions import FALSE
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import APP_WRAPPER, AppWrapper
from fleetqueue.api.meta import key_of, precondition_of
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.embedded.operators import app_wrapper_plan as plans
from fleetqueue.embedded.operators.app_wrapper_components import LABEL, BadComponent, component_object, is_owned
from fleetqueue.embedded.operators.app_wrapper_status import (
    DEPLOYED,
    NEW,
    RESETTING,
    RESUMING,
    RUNNING,
    SUSPENDED,
    TERMINATING,
    WrapperPlan,
)
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

FINALIZER: Final = "workload.codeflare.dev/finalizer"
BY_WRAPPER: Final = "app wrapper"

log = Log("appwrapper")


class AppWrapperController(Controller):
    name = "app wrappers"

    def __init__(self, hub: Cluster, metrics: Metrics) -> None:
        super().__init__(hub, metrics)
        self.events = Recorder(hub.client, "appwrappers")
        self.pods = hub.informer(Pod, labels=LABEL).store
        self.pods.add_index(BY_WRAPPER, _wrapper_of)
        self._resources: dict[tuple[str, str], Resource] = {}
        """The wrapped kinds that were met, by their version and kind."""

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(AppWrapper, by_key)
        yield Watch(Pod, _wrapper_of, labels=LABEL, facts=lambda pod: (pod.status.phase, pod.is_deleting))

    async def reconcile(self, key: str) -> None:
        wrapper = self.hub.informer(AppWrapper).store.raw(key)
        if wrapper is None or APP_WRAPPER.manager_of(wrapper) not in ("", APP_WRAPPER.own_controller):
            return
        if "deletionTimestamp" in wrapper["metadata"]:
            await self._let_go(wrapper)
            return
        plan = await self._next(wrapper)
        if plan is None:
            return
        await self._write(plan)
        if plan.again_in is not None:
            raise errors.RetryLater(plan.again_in, "it is looked at again then")

    async def _next(self, wrapper: Manifest) -> WrapperPlan | None:
        """Go on by one step; None where there is nothing to do."""
        phase, now = (wrapper.get("status") or {}).get("phase", NEW), clock.now()
        if phase == NEW:
            return plans.begun(wrapper, now)
        is_suspended = APP_WRAPPER.is_suspended(wrapper)
        if is_suspended and phase in (RESUMING, RUNNING, RESETTING):
            return plans.suspending(wrapper, now)
        if phase == SUSPENDED and not is_suspended:
            is_held = await self.hub.add_finalizer(AppWrapper.view(wrapper), FINALIZER)
            return None if is_held else plans.resumed(wrapper, now)
        if phase == RESUMING:
            return plans.begins_to_make(wrapper, now) or await self._make(wrapper)
        if phase == RUNNING:
            return plans.running(wrapper, await self._look(wrapper), now)
        if phase != SUSPENDED and is_true(wrapper, DEPLOYED):
            return plans.waits_to_delete(wrapper, now) or await self._take_away(wrapper)
        return plans.reset(wrapper, now) if phase == RESETTING else None

    async def _let_go(self, wrapper: Manifest) -> None:
        """Delete what is left of an AppWrapper that goes."""
        view = AppWrapper.view(wrapper)
        if FINALIZER not in view.metadata.finalizers:
            return
        if is_true(wrapper, DEPLOYED):
            going = {**wrapper, "status": {**wrapper["status"], "phase": TERMINATING}}
            plan = await self._take_away(going)
            await self._write(plan, live=wrapper)
            if plan.again_in is not None:
                raise errors.RetryLater(plan.again_in, "its components go")
            return
        await self.hub.remove_finalizer(view, FINALIZER)

    # What it does to components

    async def _make(self, wrapper: Manifest) -> WrapperPlan:
        names: dict[int, str] = {}
        problem, is_fatal, refused = "", False, None
        for number in plans.unmade(wrapper):
            try:
                names[number] = await self._create(wrapper, component_object(wrapper, number))
            except BadComponent as error:
                problem, is_fatal, refused = str(error), True, number
                break
            except (errors.ApiError, errors.Unreachable) as error:
                problem, is_fatal = str(error), isinstance(error, errors.Invalid)
                if isinstance(error, errors.ApiError) and error.code < 500:  # anything else may have happened
                    refused = number
                break
        return plans.made(wrapper, names, problem, clock.now(), refused=refused, is_fatal=is_fatal)

    async def _create(self, wrapper: Manifest, obj: Manifest) -> str:
        """Make an object, unless it is there; return its name."""
        resource = await self._resource(obj["apiVersion"], obj["kind"])
        if resource is None:
            raise BadComponent(f'no matches for kind "{obj["kind"]}" in version "{obj["apiVersion"]}"')
        try:
            answer = await self.hub.client.create(resource, obj)
        except errors.AlreadyExists:
            name = obj["metadata"]["name"]
            answer = await self.hub.client.get(resource, name, obj["metadata"]["namespace"])
            if not is_owned(answer, wrapper):
                raise BadComponent(f"resource {name} exists, but is not controlled by appwrapper") from None
        log.info("component made", kind=obj["kind"], name=answer["metadata"]["name"])
        return str(answer["metadata"]["name"])

    async def _look(self, wrapper: Manifest) -> plans.Seen:
        components = [await self._find(wrapper, status) for status in wrapper["status"]["componentStatus"]]
        return plans.Seen(components, self._pods(wrapper))

    async def _take_away(self, wrapper: Manifest) -> WrapperPlan:
        statuses, is_forced = wrapper["status"]["componentStatus"], plans.forces(wrapper, clock.now())
        gone = [number for number, status in enumerate(statuses) if not await self._is_left(wrapper, status)]
        pods = self._pods(wrapper)
        for pod in pods if is_forced else ():
            await self.hub.client.delete(Pod.resource, pod.name, pod.namespace, uid=pod.uid, grace=0)
        return plans.unmade_after(wrapper, gone, len(pods), clock.now())

    async def _is_left(self, wrapper: Manifest, status: Manifest) -> bool:
        """Delete a component if it is there; tell whether it was."""
        found = await self._find(wrapper, status)
        resource = await self._resource(status["apiVersion"], status["kind"]) if found is not None else None
        if found is None or resource is None:
            return False
        if "deletionTimestamp" not in found["metadata"]:
            metadata = found["metadata"]
            await self.hub.client.delete(resource, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        return True

    async def _find(self, wrapper: Manifest, status: Manifest) -> Manifest | None:
        """Return a component if it is there and ours."""
        if condition_status(status, DEPLOYED) in ("", FALSE) or not status["name"]:
            return None
        resource = await self._resource(status["apiVersion"], status["kind"])
        if resource is None:
            return None
        found = await self.hub.client.find(resource, status["name"], wrapper["metadata"]["namespace"])
        return found if found is not None and is_owned(found, wrapper) else None

    async def _resource(self, api_version: str, kind: str) -> Resource | None:
        known = self._resources.get((api_version, kind))
        if known is None:
            plural = await self.hub.client.plural_of(api_version, kind)
            if not plural:
                return None
            group, _, version = api_version.rpartition("/")
            known = self._resources[api_version, kind] = Resource(group, version, kind, plural)
        return known

    def _pods(self, wrapper: Manifest) -> list[Pod]:
        key = key_of(wrapper["metadata"]["namespace"], wrapper["metadata"]["name"])
        return list(self.pods.by_index(BY_WRAPPER, key))

    async def _write(self, plan: WrapperPlan, live: Manifest | None = None) -> None:
        live = plan.wrapper if live is None else live
        if plan.status == live.get("status"):
            return
        metadata, view = live["metadata"], AppWrapper.view(live)
        patch = {"metadata": precondition_of(metadata), "status": plan.status}
        await self.hub.client.merge(AppWrapper.resource, view.name, view.namespace, patch, subresource="status")
        log.info("status written", app_wrapper=view.key, phase=plan.status["phase"])
        for reason, action, note in plan.says:
            await self.events.normal(view, reason, note, action=action)


def _wrapper_of(pod: Pod) -> Iterable[str]:
    if name := pod.metadata.labels.get(LABEL):
        yield key_of(pod.namespace, name)

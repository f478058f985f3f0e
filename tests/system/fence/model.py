"""A model of the fence, small enough that every order of events is tried.

One job, worker A whose network may fail at any moment, worker B that is always well, the dispatcher and Kueue on the
hub, and the agent on A. A state is a tuple, time passes in ticks, and all times are ages, so that states which differ
only by when they happen are one. No horizon is needed: ages beyond all deadlines are one age.

Any request to A or from A may be lost at any moment, carried out while its answer is lost, or answered with NotFound or
Conflict by somebody else; so cuts of either direction, of any length and number, need no state. The job may be evicted
at any moment, which is also how the dispatcher takes it back. What is late is so by LATE ticks at most. The rest
happens as often as the caller says. What pure functions of the product decide is decided here by these functions.

The dispatcher looks at everything at once, and has no times that are there for other reasons, as those for a nominated
cluster to admit a job: a later look would only make it wait longer. The agent may look for its Lease at any moment, not
only once a renewal was refused: it drops a promise for another Lease earlier than it would.

Simplified: an agent that is down or suspended past its deadline is back within AWAKE ticks. Nobody can stop pods
without an agent; the hub's slack is the time that it may be missing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import NamedTuple
from unittest.mock import patch

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import SENT_TO, STOPPED, recorded
from fleetqueue.controllers.fence import copy_steps, promise
from fleetqueue.controllers.fence.copy_steps import Step, is_promised, next_step
from fleetqueue.controllers.fence.promise import Promise
from fleetqueue.controllers.placement_admission import fences
from fleetqueue.controllers.placement_admission.fences import silence_needed
from fleetqueue.controllers.placement_admission.sent_records import with_members

SHORT = 1
"""The shorter one of the two durations of the Lease that can be set, in ticks."""
START, KUEUE, GRACE, PODS, LATE, AWAKE = 1, 1, 1, 1, 1, 1
"""START to GRACE and PODS are the product's times of these names; LATE and AWAKE are what it must bear."""
RUNNING = -1
"""Of pods; else for how many ticks they may go on ending."""


@contextmanager
def in_ticks(drift: float) -> Iterator[None]:
    """Let the product's functions count in ticks."""
    left.cache_clear()
    step.cache_clear()
    with (
        patch.object(promise, "START_SECONDS", START),
        patch.object(copy_steps, "KUEUE_SECONDS", KUEUE),
        patch.object(fences, "DRIFT", drift),
    ):
        yield


class Copy(NamedTuple):
    lease: str
    """In trust of which Lease it was sent."""
    has_quota: bool = False
    stopping_for: int = -1
    """Ticks since the agent began to stop it; -1 where it has not."""


class Renewal(NamedTuple):
    """A request of the agent to the hub, or its answer."""

    lease: str
    duration: int
    clears: bool
    age: int = 0
    """By the clock of the agent."""
    answer: str = ""
    """`ok`, or `passed` where the Lease has the mark."""


class State(NamedTuple):
    # The hub's Lease
    uid: str = ""
    duration: int = 0
    """0 before the first renewal."""
    is_passed: bool = False
    last_uid: int = 0
    # The dispatcher
    wait: int = 0
    """Ticks until the job counts as stopped on a silent A, as `Fences.seconds_left` counts them: since the last renewal
    was first seen, and since the job was seen to be evicted or placed."""
    gone: int = 0
    """Ticks since it first saw that A has no copy of the evicted job."""
    # The hub's Workload
    nominated: str = ""
    """Any of A and B."""
    sent: str | None = None
    """The Lease that is recorded for A; None where the job was never sent there."""
    winner: str = ""
    # Kueue's request to A
    request: str = ""
    """`copy` or `job`."""
    request_age: int = 0
    request_lease: str = ""
    # The workers
    copy: Copy | None = None
    pods: int = 0
    on_b: bool = False
    # The agent
    mode: str = "up"
    lease: str = ""
    acknowledged: int = -1
    """Ticks of its own clock since it sent what was acknowledged last; -1 where it does not know."""
    promised: int = 0
    """For how many ticks that was."""
    missing: int = 0
    """For how many ticks it has been down, or suspended."""
    started: int = 0
    after: int = 0
    """For how long it promises something, as it is set."""
    knows_mark: bool = False
    version: str = ""
    """`read` or `stale`: of the Lease from which it wants to take the mark."""
    renewal: Renewal | None = None
    overtaken: Renewal | None = None
    """One of an agent that was stopped since; it may still reach the hub."""
    faults: tuple[str, ...] = ()

    @property
    def runs_twice(self) -> bool:
        return self.pods != 0 and self.on_b


@dataclass(frozen=True)
class Rules:
    """The protocol; each field that is True is a mistake."""

    slack: int
    duration: int = 2
    """Of the Lease, in ticks."""
    counts_from_answer: bool = False
    clock_stops_in_suspend: bool = False
    hub_counts_from_renew_time: bool = False
    leader_takes_old_as_expired: bool = False
    hub_does_not_look_again: bool = False
    passes_without_promise: bool = False
    record_is_upgraded: bool = False
    renews_before_writing_down: bool = False
    starts_again: bool = False
    does_not_finish: bool = False
    ignores_mark: bool = False
    skips_silent: bool = False
    does_not_record: bool = False
    believes_other_boot: bool = False
    believes_longer: bool = False
    adds_nominations: bool = False
    """B is nominated beside A, also while a copy waits on A."""
    counts_only_renewals: bool = False
    asks_only_for_copy: bool = False
    """A cluster without the copy counts as one without pods."""
    keeps_gone: bool = False
    """Since when a cluster has no copy is not forgotten when the job is sent there again."""
    renews_blindly: bool = False
    """A renewal does not say which version of the Lease it is for."""
    drops_when_refused: bool = False
    does_not_write_shorter: bool = False


@cache
def left(lease: str, acknowledged: int, promised: int, after: int, started: int) -> float:
    """Return the ticks until the agent stops copies, by its own clock."""
    boot = "boot" if acknowledged >= 0 else ""
    kept = Promise(lease, boot, -acknowledged, promised)
    return kept.deadline(after, boot="boot", started=-started)


@cache
def view(copy: Copy) -> kueue.Workload:
    annotations = {SENT_TO: recorded({"A": copy.lease}), **({STOPPED: "now"} if copy.stopping_for >= 0 else {})}
    conditions = [{"type": kueue.QUOTA_RESERVED, "status": "True"}] if copy.has_quota else []
    raw = kueue.Workload.manifest("job", "team", annotations=annotations, status={"conditions": conditions})
    return kueue.Workload.view(raw)


@cache
def step(copy: Copy, lease: str, is_expired: bool) -> Step:
    if copy.stopping_for < 0 and not is_promised(view(copy), lease):
        return Step.LEAVE
    return next_step(view(copy), is_expired=is_expired, stopping_for=copy.stopping_for)


class Model:
    def __init__(self, rules: Rules, faults: Mapping[str, int]) -> None:
        """`faults` says how often each of those in `possible`, `kueue` and `time` may happen."""
        self.rules = rules
        self.most = faults
        self.drift = faults.get("drift", 0) / (rules.duration + GRACE + rules.slack)
        """So many ticks in the time of a Lease; for shorter times too, since only whole ticks are counted."""

    def next(self, s: State) -> Iterator[tuple[str, State]]:
        yield from self.kueue(s)
        yield from self.dispatcher(s)
        yield from self.agent(s)
        yield from self.faults(s)
        yield from self.time(s)

    # Kueue, on the hub and on A

    def kueue(self, s: State) -> Iterator[tuple[str, State]]:
        copy = s.copy
        if s.request:
            done = s._replace(request="", request_age=0, request_lease="")
            yield f"Kueue's {s.request} for A is lost", done
            if s.request == "copy" and copy is None:
                new = Copy(s.request_lease, has_quota=not self.rules.adds_nominations)
                yield "the copy arrives on A", done._replace(copy=new)
            elif s.request == "job" and copy and copy.has_quota and copy.stopping_for < 0 and s.pods == 0:
                yield "the Job arrives on A and runs", done._replace(pods=RUNNING)
        elif "A" in s.nominated and not s.winner:
            if copy is None:
                yield "Kueue sends the copy to A", s._replace(request="copy", request_lease=s.sent or "")
            elif copy.has_quota and copy.stopping_for < 0 and s.pods == 0:
                yield "Kueue sends the Job to A", s._replace(request="job")
        if copy and not copy.has_quota and copy.stopping_for < 0:
            yield "the copy on A gets quota", s._replace(copy=copy._replace(has_quota=True))
        if copy and copy.has_quota and copy.stopping_for >= 0:
            yield "Kueue on A stops the job", s._replace(copy=copy._replace(has_quota=False), pods=ending(s.pods))
        if "A" in s.nominated and not s.winner and s.pods == RUNNING:
            yield "Kueue records that A has won", self.settled(s)._replace(winner="A")
        if "B" in s.nominated and not s.winner:
            yield "Kueue starts the job on B", s._replace(winner="B", on_b=True)
        if copy and (s.winner == "B" or (not s.winner and "A" not in s.nominated)):
            yield "Kueue removes the copy from A", s._replace(copy=None, pods=ending(s.pods))
        if s.nominated:  # B is always well, and has stopped the job when it says so
            evicted = self.settled(s)._replace(nominated="", winner="", on_b=False)
            yield "the job is evicted", evicted._replace(gone=0)
            if self.may(s, "unseen"):
                unseen = evicted._replace(faults=with_fault(s, "unseen"))
                yield "the job is evicted, and has quota again before the dispatcher looks", unseen

    # The dispatcher

    def dispatcher(self, s: State) -> Iterator[tuple[str, State]]:
        if not s.nominated:
            for trusted in {"", s.uid if s.duration and not s.is_passed else ""}:
                gone = s.gone if self.rules.keeps_gone else 0
                sent = s._replace(nominated="A", sent=self.recorded(s, trusted), gone=gone)
                yield f"A is nominated, in trust of {trusted or 'nothing'}", sent
            chosen = s._replace(nominated="B", winner="B", on_b=True)
        elif s.nominated == "A" and not s.winner and self.rules.adds_nominations:
            chosen = s._replace(nominated="AB")
        else:
            return
        if s.sent is None:
            yield "B is nominated", chosen
            return
        if self.is_absent(s):
            yield "A says that it has nothing, B is nominated", chosen
        if self.is_over(s):
            marked = self.written(chosen)._replace(is_passed=True)
            yield "A does not answer and is marked, B is nominated", marked

    def recorded(self, s: State, trusted: str) -> str | None:
        if self.rules.does_not_record:
            return None
        if self.rules.record_is_upgraded:
            return trusted
        before = None if s.sent is None else {"A": s.sent}
        return with_members(before, (), {"A": trusted}, has_copies=s.copy is not None)["A"]

    def is_absent(self, s: State) -> bool:
        """Tell whether A, when it is asked, says that the job does not run there, and has done so for long enough."""
        if s.nominated:
            return s.copy is None or not s.copy.has_quota
        return s.copy is None and (s.gone >= GRACE + PODS or self.rules.asks_only_for_copy)

    def is_over(self, s: State) -> bool:
        """Tell whether the job counts as stopped on A, which does not answer."""
        if self.rules.skips_silent:
            return True
        is_trusted = s.sent == s.uid or (self.rules.passes_without_promise and s.sent == "")
        return bool(s.uid) and is_trusted and s.wait == 0

    def settled(self, s: State) -> State:
        """Return what the dispatcher knows when it sees that Kueue brings no further copy."""
        return s._replace(wait=s.wait if self.rules.counts_only_renewals else max(s.wait, self.needed(0)))

    def needed(self, duration: int) -> int:
        return ceil(silence_needed(duration, GRACE, self.rules.slack))

    # The agent

    def agent(self, s: State) -> Iterator[tuple[str, State]]:
        if s.renewal is not None:
            yield from self.renewal(s, s.renewal)
        elif s.mode == "up":
            if s.lease != s.uid or not s.uid:
                yield "the agent finds another Lease, or makes one, and writes its uid down", self.taken(s)
            if s.lease:
                sent = Renewal(s.lease, s.after, clears=s.version != "")
                written = s.promised if self.rules.does_not_write_shorter else min(s.promised, s.after)
                yield "the agent sends a renewal", s._replace(renewal=sent, promised=written)
            if s.knows_mark and not s.version and not (s.copy and step(s.copy, s.lease, True) is Step.DEACTIVATE):
                yield "the agent reads the version of the marked Lease", s._replace(version="read")

    def taken(self, s: State) -> State:
        uid = s.uid or f"lease-{s.last_uid + 1}"
        new = s._replace(uid=uid, last_uid=s.last_uid + (not s.uid), lease=uid)
        return new._replace(acknowledged=-1, promised=0, knows_mark=False, version="")

    def renewal(self, s: State, renewal: Renewal) -> Iterator[tuple[str, State]]:
        if renewal.answer or renewal.age:
            yield "the renewal or its answer is lost", self.stopped(s._replace(renewal=None))
        if renewal.answer:
            if s.mode == "up":
                yield "the agent reads the answer", self.stopped(self.answered(s, renewal))
            return
        if renewal.lease != s.uid or (renewal.clears and s.version != "read"):
            yield "the hub refuses the renewal", self.refused(s)
            return
        yield "somebody refuses the renewal falsely", self.refused(s)
        is_passed = s.is_passed and not renewal.clears
        hub = self.renewed(s, renewal.duration)._replace(is_passed=is_passed)
        yield "the hub renews the Lease", hub._replace(renewal=renewal._replace(answer="passed" if is_passed else "ok"))
        yield "the hub renews the Lease, and the request comes once more", hub
        yield "the hub renews the Lease, and somebody says falsely that it does not", self.refused(hub)

    def written(self, s: State) -> State:
        """Return what comes of a write of the Lease: who wants to change the version before it is refused."""
        overtaken = s.overtaken if self.rules.renews_blindly else None
        return s._replace(version="stale" if s.version else "", overtaken=overtaken)

    def renewed(self, s: State, duration: int) -> State:
        hub = self.written(s)._replace(duration=duration)
        if self.rules.hub_does_not_look_again and s.duration:
            return hub
        return hub._replace(wait=0 if self.rules.hub_counts_from_renew_time else self.needed(duration))

    def refused(self, s: State) -> State:
        heard = s._replace(renewal=None, version="")
        if self.rules.drops_when_refused:
            heard = heard._replace(lease="", acknowledged=-1, promised=0, knows_mark=False)
        return self.stopped(heard)

    def answered(self, s: State, renewal: Renewal) -> State:
        if self.rules.starts_again and s.copy and s.copy.stopping_for >= 0:
            s = s._replace(copy=Copy(s.copy.lease, has_quota=True), pods=RUNNING if s.pods else 0)
        return s._replace(
            renewal=None,
            version="",
            acknowledged=0 if self.rules.counts_from_answer else renewal.age,
            promised=renewal.duration,
            knows_mark=renewal.answer == "passed" and not self.rules.ignores_mark,
        )

    def stopped(self, s: State) -> State:
        """Let the agent take its turn: each tick it takes what it has promised one step further."""
        if s.mode != "up" or s.renewal is not None or s.copy is None:
            return s
        after = s.promised if self.rules.believes_longer else s.after
        is_expired = s.knows_mark or left(s.lease, s.acknowledged, s.promised, after, s.started) <= 0
        if self.rules.does_not_finish and not is_expired:
            return s
        match step(s.copy, s.lease, bool(s.lease) and is_expired):
            case Step.DEACTIVATE:
                return s._replace(copy=s.copy._replace(stopping_for=0))
            case Step.DELETE:
                return s._replace(copy=None, pods=ending(s.pods))
        return s

    # Faults

    def faults(self, s: State) -> Iterator[tuple[str, State]]:
        for fault, change in self.possible(s):
            if self.may(s, fault):
                yield f"fault: {fault}", change(s)._replace(faults=with_fault(s, fault))
        if s.mode == "suspended":
            yield "the agent goes on", s._replace(mode="up", missing=0)
        elif s.mode in ("killed", "rebooted"):
            yield "the agent starts", self.restarted(s)
        if s.overtaken:
            done = s._replace(overtaken=None)
            yield "the earlier renewal is lost", done
            if s.overtaken.lease == s.uid:
                hub = self.renewed(done, s.overtaken.duration)
                is_late = s.renewal is not None and not s.renewal.answer and not self.rules.renews_blindly
                yield "the earlier renewal reaches the hub", self.refused(hub) if is_late else hub

    def possible(self, s: State) -> Iterator[tuple[str, Callable[[State], State]]]:
        if s.mode == "up":
            yield "kill", lambda s: s._replace(mode="killed", renewal=None)
            yield "kill", lambda s: s._replace(mode="rebooted", renewal=None)
            yield "suspend", lambda s: s._replace(mode="suspended")
            if s.renewal is None:
                yield "setting", self.set_anew
            elif not (s.renewal.answer or s.renewal.clears or s.overtaken):
                yield "overtaken", lambda s: self.set_anew(s._replace(renewal=None, overtaken=s.renewal))
        if s.duration:
            new = 0 if self.rules.leader_takes_old_as_expired else self.needed(s.duration)
            yield "leader", lambda s: s._replace(wait=new, gone=0)
        if s.uid:
            yield "delete", lambda s: s._replace(uid="", duration=0, is_passed=False, wait=0)

    def set_anew(self, s: State) -> State:
        return self.restarted(s._replace(after=SHORT if s.after != SHORT else self.rules.duration))

    def restarted(self, s: State) -> State:
        copy = s.copy._replace(stopping_for=0) if s.copy and s.copy.stopping_for > 0 else s.copy
        new = s._replace(mode="up", missing=0, started=0, knows_mark=False, version="", copy=copy)
        if self.rules.renews_before_writing_down and s.acknowledged < 0:
            return new._replace(lease="")
        if s.mode == "rebooted" and s.acknowledged >= 0:
            return new._replace(acknowledged=0 if self.rules.believes_other_boot else -1)
        return new

    def may(self, s: State, fault: str) -> bool:
        return s.faults.count(fault) < self.most.get(fault, 0)

    # Time

    def time(self, s: State) -> Iterator[tuple[str, State]]:
        ages = [s.request_age, *(r.age for r in (s.renewal, s.overtaken) if r)]
        if max(ages) >= LATE or (s.mode != "up" and self.must_be_back(s)):
            return
        yield "a tick", self.later(s, 1, 1)
        if self.may(s, "drift"):
            drifted = s._replace(faults=with_fault(s, "drift"))
            yield "a tick, which the agent's clock misses", self.later(drifted, 0, 1)
            yield "a tick, which is two for the hub", self.later(drifted, 1, 2)

    def must_be_back(self, s: State) -> bool:
        if s.missing < AWAKE or s.acknowledged < 0:
            return s.missing >= AWAKE
        age = s.acknowledged + (s.missing if self.rules.clock_stops_in_suspend and s.mode == "suspended" else 0)
        return age - min(s.promised, s.after) >= AWAKE

    def later(self, s: State, by_agent: int, by_hub: int) -> State:
        s = self.stopped(s)
        if s.mode == "suspended" and self.rules.clock_stops_in_suspend:
            by_agent = 0
        duration = self.rules.duration
        copy, is_gone = s.copy, s.gone > 0 or (s.sent is not None and not s.nominated and s.copy is None)
        if copy and copy.stopping_for >= 0:
            copy = copy._replace(stopping_for=min(copy.stopping_for + by_agent, KUEUE))
        return s._replace(
            wait=max(s.wait - by_hub, 0),
            gone=min(s.gone + by_hub * is_gone, GRACE + PODS),
            request_age=s.request_age + bool(s.request),
            copy=copy,
            pods=s.pods - 1 if s.pods > 0 else s.pods,
            acknowledged=min(s.acknowledged + by_agent, duration + 1) if s.acknowledged >= 0 else -1,
            missing=min(s.missing + 1, duration + AWAKE) if s.mode != "up" else 0,
            started=min(s.started + by_agent, START),
            renewal=older(s.renewal, by_agent),
            overtaken=older(s.overtaken, by_agent),
        )


def older(renewal: Renewal | None, by: int) -> Renewal | None:
    return renewal._replace(age=renewal.age + by) if renewal else None


def ending(pods: int) -> int:
    """Return what becomes of pods that are told to end."""
    return GRACE if pods == RUNNING else pods


def with_fault(s: State, fault: str) -> tuple[str, ...]:
    return tuple(sorted((*s.faults, fault)))

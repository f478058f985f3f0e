"""The CEL of a Placement's predicates, made of our API server's own: functions and messages as OCM has them."""

import json
from collections.abc import Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.validation.cel import CelError, CompileError, CostExceeded, compiler, types
from fleetqueue.embedded.apiserver.validation.cel.environment import KUBERNETES
from fleetqueue.embedded.apiserver.validation.cel.errors import InstantiationError
from fleetqueue.embedded.apiserver.validation.cel.functions import Dialect, Library, Overload, merged
from fleetqueue.embedded.ocm.placement.plugins.selectors import Expression, ScoresOf

COST_LIMIT: Final = 1_000_000
EXTENSIONS: Final = frozenset({"slice", "flatten", "distinct", "sort", "reverse"})
"""Functions on lists that newer API servers have, and OCM's environment has not."""
VARIABLES: Final = {"managedCluster": types.map_of(types.STRING, types.DYN)}


def compile_expression(source: str, scores_of: ScoresOf) -> Expression:
    """Compile an expression over one ManagedCluster; raises ValueError with what OCM says."""
    try:
        program = compiler.compile_expression(source, VARIABLES, Dialect(_functions(scores_of), mixes_literals=True))
    except InstantiationError as error:
        raise ValueError(f"instantiation failed: {error}") from None
    except CompileError as error:
        raise ValueError(f"compilation failed: {error}") from None

    def matches(cluster: Manifest) -> bool:
        try:
            value, _ = program.evaluate(cluster, limit=COST_LIMIT)
        except (CelError, CostExceeded):
            return False
        return value is True

    return matches


def _functions(scores_of: ScoresOf) -> dict[str, tuple[Overload, ...]]:
    library = Library()
    library.method("reverse", types.STRING, result=types.STRING)(lambda text: text[::-1])

    @library.method("scores", types.DYN, types.STRING, result=types.list_of(types.DYN))
    def scores(cluster: Any, resource: str) -> Sequence[dict[str, Any]]:
        addon_scores = scores_of(cluster["metadata"]["name"], resource)
        if addon_scores is None:
            raise CelError(f'failed to get score: addonplacementscore "{resource}" not found')
        return addon_scores

    @library.method("parseJSON", types.STRING, result=types.DYN)
    def parse_json(text: str) -> Any:
        try:
            return json.loads(text, parse_int=float)
        except ValueError as error:
            raise CelError(f"failed to parse json: {error}") from None

    return {**OF_KUBERNETES, **merged(library)}


def _is_known(name: str, overload: Overload) -> bool:
    """Tell whether OCM has a function of the API server."""
    if name.startswith(("sets.", "lists.")) or name in EXTENSIONS:
        return False
    return name not in ("semver", "isSemver") or len(overload.params) == 1


OF_KUBERNETES: Final = {
    name: known
    for name, overloads in KUBERNETES.functions.items()
    if (known := tuple(overload for overload in overloads if _is_known(name, overload)))
}

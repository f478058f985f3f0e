"""The CEL of a ManifestWork's condition rules, made of our API server's own: functions as OCM has them."""

from functools import lru_cache
from typing import Any, Final

from fleetqueue.embedded.apiserver.validation.cel import CelError, CompileError, CostExceeded, compiler, types
from fleetqueue.embedded.apiserver.validation.cel.compiler import CompiledExpression
from fleetqueue.embedded.apiserver.validation.cel.environment import KUBERNETES
from fleetqueue.embedded.apiserver.validation.cel.functions import Dialect, Library, merged

VARIABLES: Final = {"object": types.DYN, "result": types.BOOL}


def evaluate(expression: str, variables: dict[str, Any]) -> Any:
    """Evaluate an expression over an object, and over what became of it; raises ValueError with what is wrong."""
    try:
        value, _ = _compiled(expression).evaluate(variables["object"], variables.get("result", False))
    except (CompileError, CelError) as error:
        raise ValueError(str(error)) from None
    except CostExceeded:
        raise ValueError("operation cancelled: actual cost limit exceeded") from None
    return value


@lru_cache(maxsize=256)
def _compiled(expression: str) -> CompiledExpression:
    return compiler.compile_expression(expression, VARIABLES, _DIALECT)


_LIBRARY: Final = Library()


@_LIBRARY.function("hasConditions", types.DYN, result=types.BOOL)
def _has_conditions(status: Any) -> bool:
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return isinstance(conditions, list) and bool(conditions)


_DIALECT: Final = Dialect({**KUBERNETES.functions, **merged(_LIBRARY)}, mixes_literals=True)

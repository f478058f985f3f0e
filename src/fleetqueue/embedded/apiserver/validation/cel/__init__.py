"""The Common Expression Language, as Kubernetes uses it in custom resources: compiled to Python functions.

Reads nothing and knows nothing of the server; `compile_expression` is the entry point.
"""

from fleetqueue.embedded.apiserver.validation.cel.compiler import COST_LIMIT, CompiledExpression
from fleetqueue.embedded.apiserver.validation.cel.environment import compile_expression
from fleetqueue.embedded.apiserver.validation.cel.errors import CelError, CompileError, CostExceeded

__all__ = ["COST_LIMIT", "CelError", "CompileError", "CompiledExpression", "CostExceeded", "compile_expression"]

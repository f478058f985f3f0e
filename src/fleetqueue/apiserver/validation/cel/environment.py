"""All functions that Kubernetes 1.36 gives to the expressions of custom resources."""

from collections.abc import Mapping

from fleetqueue.apiserver.validation.cel import (
    compiler,
    lists,
    named_formats,
    network,
    optionals,
    quantities,
    standard,
    strings,
    urls,
)
from fleetqueue.apiserver.validation.cel.functions import merged
from fleetqueue.apiserver.validation.cel.types import Type

KUBERNETES = merged(
    standard.library,
    strings.library,
    lists.library,
    optionals.library,
    urls.library,
    network.library,
    quantities.library,
    named_formats.library,
)


def compile_expression(source: str, variables: Mapping[str, Type]) -> compiler.Program:
    """Compile an expression over these variables; raises CompileError."""
    return compiler.compile_expression(source, variables, KUBERNETES)

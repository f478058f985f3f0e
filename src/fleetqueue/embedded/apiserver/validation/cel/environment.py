"""All functions that Kubernetes 1.36 gives to the expressions of custom resources."""

from collections.abc import Mapping

from fleetqueue.embedded.apiserver.validation.cel import (
    compiler,
    lists,
    named_formats,
    network,
    optionals,
    quantities,
    semantic_versions,
    standard,
    strings,
    urls,
)
from fleetqueue.embedded.apiserver.validation.cel.functions import Dialect, merged
from fleetqueue.embedded.apiserver.validation.cel.types import Type

KUBERNETES = Dialect(
    merged(
        standard.library,
        standard.mixed_comparisons,
        strings.library,
        lists.library,
        optionals.library,
        urls.library,
        network.library,
        quantities.library,
        semantic_versions.library,
        named_formats.library,
    )
)


def compile_expression(
    source: str, variables: Mapping[str, Type], dialect: Dialect = KUBERNETES
) -> compiler.CompiledExpression:
    """Compile an expression over these variables; raises CompileError."""
    return compiler.compile_expression(source, variables, dialect)

"""Decide whether a type fits where another is wanted, and what its type variables then stand for."""

from operator import is_

from fleetqueue.embedded.apiserver.validation.cel.types import DYN, Type, is_less_specific, same

_NULLABLE = frozenset({"opaque", "object", "timestamp", "duration"})
_AGGREGATE = frozenset({"opaque", "list", "map"})


class Bindings:
    """What the type variables of one expression stand for."""

    def __init__(self) -> None:
        self.known: dict[str, Type] = {}
        self.count = 0

    def fresh(self) -> Type:
        self.count += 1
        return Type("param", name=f"_var{self.count}")

    def instantiated(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """Give the type parameters of a declaration names that nothing else uses."""
        names: dict[str, Type] = {}
        return tuple(self._renamed(cel_type, names) for cel_type in types)

    def _renamed(self, cel_type: Type, names: dict[str, Type]) -> Type:
        if cel_type.kind == "param":
            if cel_type.name not in names:
                names[cel_type.name] = self.fresh()
            return names[cel_type.name]
        if not cel_type.params:
            return cel_type
        return _with_params(cel_type, tuple(self._renamed(param, names) for param in cel_type.params))

    def fits(self, actual: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        """Whether values of these types can be given for those; remembers what variables must be, if so."""
        if len(actual) != len(wanted):
            return False
        before = dict(self.known)
        if all(self._assignable(one, other) for one, other in zip(actual, wanted, strict=True)):
            return True
        self.known = before
        return False

    def resolved(self, cel_type: Type, *, to_dyn: bool = False) -> Type:
        """Replace variables by what they stand for; unknown ones by `dyn` if asked."""
        if cel_type.kind == "param":
            if cel_type.name in self.known:
                return self.resolved(self.known[cel_type.name], to_dyn=to_dyn)
            return DYN if to_dyn else cel_type
        if not cel_type.params:
            return cel_type
        params = tuple(self.resolved(param, to_dyn=to_dyn) for param in cel_type.params)
        return cel_type if all(map(is_, params, cel_type.params)) else _with_params(cel_type, params)

    def _assignable(self, one: Type, other: Type) -> bool:
        if other.kind == "param":
            fits, was_known = self._bind(one, other)
            if fits or was_known:
                return fits
        if one.kind == "param":
            return self._bind(other, one)[0]
        if one.is_dyn or other.is_dyn:
            return True
        if one.kind == "null" or other.kind == "null":
            return one.kind == other.kind or one.kind in _NULLABLE or other.kind in _NULLABLE
        if one.kind == "type":
            return other.kind == "type"
        if one.kind in _AGGREGATE:
            return (one.kind, one.name, len(one.params)) == (other.kind, other.name, len(other.params)) and all(
                self._assignable(mine, theirs) for mine, theirs in zip(one.params, other.params, strict=True)
            )
        return same(one, other)

    def _bind(self, actual: Type, variable: Type) -> tuple[bool, bool]:
        if same(actual, variable):
            return True, True
        if variable.name in self.known:
            bound = self.known[variable.name]
            if same(actual, bound):
                return True, True
            if not self._assignable(actual, bound):
                return False, True
            general = actual if is_less_specific(actual, bound) else bound
            if self._is_free(variable, general):
                self.known[variable.name] = general
            return True, True
        if self._is_free(variable, actual):
            self.known[variable.name] = actual
            return True, False
        return False, False

    def _is_free(self, variable: Type, within: Type) -> bool:
        if same(variable, within):
            return False
        if within.kind == "param":
            bound = self.known.get(within.name)
            return bound is None or self._is_free(variable, bound)
        return all(self._is_free(variable, param) for param in within.params)


def _with_params(cel_type: Type, params: tuple[Type, ...]) -> Type:
    return Type(cel_type.kind, params, cel_type.name, cel_type.fields, cel_type.list_type, cel_type.list_keys)

"""A round trip of an object through the models of `fluid-pysdk`, the vendor's own client.

Its deserializer does not read the types that half of its models name (`Dict[str, str]`), so the models are filled here,
by the types and names that they declare; anything that a model has no field for is an error.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

from kubernetes.client import models as kubernetes

_LIST = re.compile(r"list\[(.+)\]", re.IGNORECASE)
_DICT = re.compile(r"dict[(\[]str, ?(.+)[)\]]", re.IGNORECASE)
_PLAIN = {"str": str, "int": int, "bool": bool, "float": float}


class UnknownFieldError(ValueError):
    """A field that no model has, or of another type."""


def round_trip(obj: dict[str, Any], fluid: ModuleType) -> dict[str, Any]:
    """The object after the models of the package `fluid` have held it."""
    found: dict[str, Any] = _back(_model(obj, getattr(fluid, obj["kind"]), fluid, obj["kind"]))
    return found


def _model(value: dict[str, Any], model: Any, fluid: ModuleType, where: str) -> Any:
    names = {json: attribute for attribute, json in model.attribute_map.items()}
    if unknown := sorted(value.keys() - names.keys()):
        raise UnknownFieldError(f"{where}: {model.__name__} has no {', '.join(unknown)}")
    fields = {
        names[key]: _typed(one, model.openapi_types[names[key]], fluid, f"{where}.{key}") for key, one in value.items()
    }
    return model(**fields)


def _typed(value: Any, named: str, fluid: ModuleType, where: str) -> Any:
    if found := _LIST.fullmatch(named):
        return [_typed(one, found[1], fluid, f"{where}[{number}]") for number, one in enumerate(value)]
    if found := _DICT.fullmatch(named):
        return {key: _typed(one, found[1], fluid, f"{where}.{key}") for key, one in value.items()}
    if named in _PLAIN:
        if not isinstance(value, _PLAIN[named]):
            raise UnknownFieldError(f"{where}: {value!r} is no {named}")
        return value
    model = getattr(fluid, named, None) or getattr(kubernetes, named, None)
    return value if model is None else _model(value, model, fluid, where)


def _back(value: Any) -> Any:
    """What a model holds, without what was never said; what no model stands for came through as it was."""
    if isinstance(value, list):
        return [_back(one) for one in value]
    if isinstance(value, dict):
        return {key: _back(one) for key, one in value.items()}
    if not hasattr(value, "openapi_types"):
        return value
    said = {json: getattr(value, attribute) for attribute, json in value.attribute_map.items()}
    return {key: _back(one) for key, one in said.items() if one is not None}

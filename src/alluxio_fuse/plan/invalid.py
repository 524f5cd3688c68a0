"""Values that a model does not take, as findings: where, what, why, and what to write instead."""

from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import did_you_mean

#: What to do where a value is beyond a bound, which pydantic's context of the error knows by its name.
LIMITS = {
    "ge": "write {} or more",
    "gt": "write more than {}",
    "le": "write {} or less",
    "lt": "write less than {}",
    "max_length": "write {} at most",
    "pattern": "write text that matches {}",
}
NAMES_OF_SECRETS = ("alluxio_kubernetes.pull_secrets", "alluxio_kubernetes.secrets")
SECRET_WORDS = ("secret", "key", "password", "token", "credential")


def refuse_invalid(model: type[BaseModel], error: ValidationError, problems: Problems, prefix: str = "") -> None:
    """Turn every error of a model into a finding; mappings and what may be a secret are not echoed."""
    for details in error.errors():
        at = tuple(details.get("ctx", {}).get("at", ()))
        path = path_of((*details["loc"], *at))
        value = None if details["type"] == "missing" else _part(details["input"], at)
        problems.refuse(prefix + path, shown(path, value), _reason(details), _remedy(model, details))


def shown(path: str, value: object) -> str:
    """A value as a finding shows it."""
    if any(word in path.lower() for word in SECRET_WORDS) and not path.startswith(NAMES_OF_SECRETS):
        return "(not shown)"
    if value is None:
        return "unset"
    if isinstance(value, dict | list):
        return f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if "://" not in text or "@" not in text else "(not shown)"


def _part(value: Any, at: tuple[str | int, ...]) -> Any:
    """The part of a value that is meant."""
    for part in at:
        value = value[part]
    return value


def path_of(location: tuple[str | int, ...]) -> str:
    """Where a value is, as a finding writes it."""
    path = ""
    for part in location:
        if part == "[key]":  # pydantic's word for what stands before it
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def _reason(details: ErrorDetails) -> str:
    said = {
        "extra_forbidden": "unknown key",
        "missing": "it is needed and was not given",
        "list_type": "not a list",
        "dict_type": "not a mapping",
        "model_type": "not a mapping",
    }
    return said.get(details["type"], details["msg"][0].lower() + details["msg"][1:])


def _remedy(model: type[BaseModel], details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    if "remedy" in context:
        return str(context["remedy"])
    if details["type"] == "extra_forbidden":
        return did_you_mean(str(details["loc"][-1]), _fields(model, details["loc"][:-1]))
    if "expected" in context:
        return f"one of {context['expected']}"
    for limit, remedy in LIMITS.items():
        if limit in context:
            return remedy.format(context[limit])
    return {
        "missing": "give it",
        "string_type": "write a string (in quotes)",
        "string_too_short": "write something, or leave it out",
        "int_type": "write a whole number",
        "float_type": "write a number",
        "finite_number": "write a number",
        "bool_type": "write true or false",
        "list_type": _example("write a list{}", "[{}]", model_at(model, details["loc"])),
        "dict_type": "write a mapping",
        "model_type": _example("write a mapping{}", "{}", model_at(model, details["loc"])),
    }.get(details["type"], "write what docs/variables.md describes")


def _example(remedy: str, around: str, model: type[BaseModel] | None) -> str:
    """A remedy with what a mapping needs, or else may have first."""
    if model is None:
        return remedy.format("")
    needed = [key for key, field in model.model_fields.items() if field.is_required()]
    keys = ", ".join(f"{key}: …" for key in needed or list(model.model_fields)[:1])
    return remedy.format(f", like {around.format('{' + keys + '}')}")


def _fields(model: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """The keys known at a location inside a model."""
    found = model_at(model, location)
    return set(found.model_fields) if found else set()


def model_at(model: type[BaseModel], location: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model at a location inside a model."""
    for part in location:
        if isinstance(part, int):
            continue
        found = model.model_fields.get(part)
        inner = next((known for known in _models(found.annotation if found else None)), None)
        if inner is None:
            return None
        model = inner
    return model


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for inner in getattr(annotation, "__args__", ()) for found in _models(inner)]

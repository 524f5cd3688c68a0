"""What action plugins of long tasks share: checked arguments, and a heading that is there before the progress."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.loader import fragment_loader
from ansible.utils.display import Display
from ansible.utils.plugin_docs import get_docstring

MODULES: Final = Path(__file__).resolve().parents[1] / "modules"

_display = Display()


def arguments(task: Any) -> dict[str, Any]:
    """The task's arguments with their defaults; AnsibleActionFail names those that do not fit the options that the
    module of the same name documents.
    """
    file = MODULES / f"{task.action.rpartition('.')[2]}.py"
    documented = get_docstring(str(file), fragment_loader, collection_name="alluxio.fuse", plugin_type="module")[0]
    checked = ArgumentSpecValidator(_spec(documented["options"])).validate(task.args)
    if checked.error_messages:
        raise AnsibleActionFail("; ".join(checked.error_messages))
    validated: dict[str, Any] = checked.validated_parameters
    return validated


@contextmanager
def told_by_api() -> Iterator[None]:
    """What the API server refuses ends the task in its own words: they name the user, the verb and the resource."""
    from kubernetes.client import ApiException  # noqa: PLC0415 - other platforms do without the package

    try:
        yield
    except ApiException as error:
        try:
            said = str(json.loads(error.body)["message"])
        except (TypeError, ValueError, KeyError):
            said = f"{error.status} {error.reason}"
        raise AnsibleActionFail(f"the API server refuses: {said}") from None


def _spec(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    kept = ("type", "required", "default", "choices", "elements")
    return {name: {key: option[key] for key in kept if key in option} for name, option in options.items()}


def heading(task: Any) -> None:
    """Shows the task's name now: Ansible's own heading of a task comes after an action plugin has ended."""
    _display.display(f"\n{task.name}")


def progress(line: str) -> None:
    """Shows one line of progress."""
    _display.display(f"  {line}")


def warning(line: str) -> None:
    """Shows a warning, as a module's own is shown."""
    _display.warning(line)

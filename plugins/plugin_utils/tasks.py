"""What action plugins of long tasks share: checked arguments, and a heading that is there before the progress."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.utils.display import Display

#: Which namespace of which cluster a task is about.
CLUSTER: dict[str, dict[str, Any]] = {
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "namespace": {"type": "str", "required": True},
}

_display = Display()


def arguments(task: Any, spec: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The task's arguments with their defaults; AnsibleActionFail names those that do not fit the argument spec."""
    checked = ArgumentSpecValidator(spec).validate(task.args)
    if checked.error_messages:
        raise AnsibleActionFail("; ".join(checked.error_messages))
    validated: dict[str, Any] = checked.validated_parameters
    return validated


def heading(task: Any) -> None:
    """Shows the task's name now: Ansible's own heading of a task comes after an action plugin has ended."""
    _display.display(f"\n{task.name}")


def progress(line: str) -> None:
    """Shows one line of progress."""
    _display.display(f"  {line}")

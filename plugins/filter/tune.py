"""Filters by which playbooks call `alluxio_fuse.views.tune`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ansible.errors import AnsibleFilterError

from alluxio_fuse.adapters import filters
from alluxio_fuse.plan import Refused
from alluxio_fuse.tune.choice import WrongBytesError
from alluxio_fuse.views import tune


def _explained(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def through(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except WrongBytesError as error:
            raise AnsibleFilterError(f"wrong bytes, so nothing is kept: {error}") from None
        except Refused as refused:
            raise AnsibleFilterError(
                f"what the inventory says now is refused, so nothing is tried:\n{refused}"
            ) from None

    return through


class FilterModule:
    """Filters of role tune."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        names = ("tunable", "tune_passes", "tune_processes", "tune_process_passes", "tune_decide", "tune_decisions")
        return {name: _explained(function) for name, function in filters(tune, *names).items()}

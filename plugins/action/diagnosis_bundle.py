"""Writes a diagnosis without its secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments

from alluxio_fuse.adapters import plain
from alluxio_fuse.diagnosis import bundle, redaction
from alluxio_fuse.diagnosis.parts import Part

display = Display()


class ActionModule(ActionBase):
    """Runs on the controller, where every variable of the inventory is known."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: true, index}; shows where the bundle is and what is not in it."""
        super().run(tmp, task_vars)
        args = arguments(self._task)
        parts = [Part.model_validate(one) for one in plain(args["parts"])]
        redactor = redaction.Redactor(known((task_vars or {})["hostvars"]))
        path = Path(args["dest"])
        try:
            index = bundle.write(path, args["name"], parts, redactor)
        except OSError as error:
            why = f"diagnose_dir: {path.parent}: {error.strerror}: say a folder that can be written to"
            raise AnsibleActionFail(why) from None
        display.display(bundle.lines(str(path.resolve()), index))
        return {"changed": True, "index": index}


def known(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Values of every host's variables whose names look like a secret's, and of what is kept below such names."""
    for host in hosts:
        variables = hosts[host]
        for name in variables:
            if name.startswith("alluxio_") or redaction.looks_secret(name):
                yield from redaction.values({name: _rendered(variables, name)})


def _rendered(variables: Mapping[str, Any], name: str) -> Any:
    """None where a variable cannot be rendered: what nobody can know has been used nowhere."""
    try:
        return plain(variables[name])
    except AnsibleError:
        return None

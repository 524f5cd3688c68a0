"""Numbers and switches as Ansible users write them: `-e key=value` gives text, which is as good as the value itself."""

from __future__ import annotations

import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleets import local
from pydantic import BaseModel, TypeAdapter, ValidationError

from alluxio_fuse import preflight
from alluxio_fuse.plan import Refused, plan
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.intent.nodes import NodeIntent
from alluxio_fuse.plan.overrides import Overrides
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.views.said import said

ROOT = Path(__file__).parents[3]
SWITCHES = {
    **dict.fromkeys(("true", "True", "yes", "on", "1", " y "), True),
    **dict.fromkeys(("false", "False", "no", "off", "0", "n"), False),
}


def leaves(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Every switch and number in a shape, however deep, with what is said of it there."""
    arguments = typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return
    if typing.get_origin(annotation) is typing.Annotated:
        yield from leaves(arguments[0], (*arguments[1:], *metadata))
    elif annotation in (bool, int, float) or any(isinstance(one, int) for one in arguments):
        yield typing.Annotated[(annotation, *metadata)] if metadata else annotation
    elif arguments and typing.get_origin(annotation) is not typing.Literal:
        for one in arguments:
            yield from leaves(one, metadata if one is not type(None) else ())


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for inner in _inner(field.annotation):
            yield from models(inner)


def _inner(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _inner(argument)


EVERY = {
    f"{model.__name__}.{name}": leaf
    for top in (FleetIntent, NodeIntent)
    for model in models(top)
    for name, field in model.model_fields.items()
    if name != "freshness"  # seconds only once it is read
    for leaf in leaves(field.annotation, tuple(field.metadata))
}


def test_there_is_something_to_see() -> None:
    assert {"FleetIntent.alluxio_check_disruptive", "Headroom.bytes", "Gate.mb_per_s", "FleetIntent.alluxio_java"} <= {
        *EVERY
    }
    assert {"FleetIntent.alluxio_tune", "FleetIntent.alluxio_port_offset", "CacheWish.share"} <= {*EVERY}


@pytest.mark.parametrize("leaf", EVERY.values(), ids=EVERY.keys())
def test_every_switch_and_number_of_the_model_may_be_text(leaf: Any) -> None:
    reader: TypeAdapter[Any] = TypeAdapter(leaf, config={"strict": True})
    given: tuple[Any, ...] = (True, False, 1, 8, 0.5, 2, 1 << 20)
    accepted = [value for value in given if _reads(reader, value)]
    assert accepted
    for value in accepted:
        assert reader.validate_python(str(value)) == reader.validate_python(value)
    refused: tuple[Any, ...] = ("perhaps", "", "3 files", "0x10", "None", [], {"a": 1})
    for nonsense in refused:
        assert not _reads(reader, nonsense), nonsense


def _reads(reader: TypeAdapter[Any], value: Any) -> bool:
    try:
        reader.validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(("text", "value"), SWITCHES.items())
def test_a_switch_is_what_ansible_takes_for_it(text: str, value: bool) -> None:
    assert said("alluxio_check_disruptive", {"alluxio_check_disruptive": text}) is value


@pytest.mark.parametrize(
    ("value", "hosts"),
    [
        (["localhost", ".example.com"], ["localhost", ".example.com"]),
        ("localhost, .example.com", ["localhost", ".example.com"]),
        ("localhost", ["localhost"]),
        ("", []),
    ],
)
def test_a_list_may_be_text_with_commas(value: Any, hosts: list[str]) -> None:
    """As the environment's `no_proxy` is; of a text, Jinja's `join` makes letters with commas between them."""
    for name in ("alluxio_no_proxy", "alluxio_refresh"):
        assert said(name, {name: value}) == hosts


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("alluxio_check_disruptive", "perhaps", "write true or false"),
        ("alluxio_check_disruptive", 2, "write true or false"),
        ("alluxio_check_passes", True, "write a whole number"),
        ("alluxio_check_passes", "3.5", "write a whole number"),
        ("alluxio_check_passes", "0", "write 1 or more"),
        ("alluxio_workload_cpus", "many", "write a number"),
        ("alluxio_workload_cpus", True, "write a number"),
        ("alluxio_workload_cpus", "1e999", "write a number"),
        ("alluxio_java", "9", "one of 8, 11, 17, 21 or 25"),
        ("alluxio_check_fail_on", ["CANNOT TELL"], 'write [FAIL], or [FAIL, "CANNOT TELL"]'),
        ("alluxio_check_fail_on", ["WARN"], "one of 'FAIL' or 'CANNOT TELL'"),
    ],
)
def test_nonsense_is_refused_with_its_variable(name: str, value: Any, remedy: str) -> None:
    with pytest.raises(Refused) as refused:
        plan(local(**{name: value}))
    assert name in str(refused.value)
    assert remedy in str(refused.value)
    with pytest.raises(Refused, match=name):
        said(name, {name: value})


def test_a_plan_of_texts_is_the_plan_of_their_values() -> None:
    texts = {"alluxio_port_offset": "100", "alluxio_check_at_once": "no", "alluxio_workload_cpus": "0.5"}
    values = {"alluxio_port_offset": 100, "alluxio_check_at_once": False, "alluxio_workload_cpus": 0.5}
    more = {"alluxio_libfuse": "2", "alluxio_overrides": {"fuse.read_ahead_kb": "4096"}}
    same = {"alluxio_libfuse": 2, "alluxio_overrides": {"fuse.read_ahead_kb": 4096}}
    assert plan(local(**texts, **more)).dump() == plan(local(**values, **same)).dump()


def test_an_override_that_is_no_number_is_refused() -> None:
    problems = Problems(frozenset())
    Overrides({"fuse.read_ahead_kb": "much", "fuse.nofile": True}, frozenset(), problems)
    assert [finding.remedy for finding in problems.findings] == ["write a whole number"] * 2


def test_what_preflight_looks_at_is_read_alike() -> None:
    asked = preflight.questions(
        {"alluxio_port_offset": "100", "alluxio_kubernetes": {"node_access": "no", "keep_journal": "False"}}
    )
    assert asked["ports"] == preflight.questions({"alluxio_port_offset": 100})["ports"]
    assert (asked["kubernetes"]["node_access"], asked["kubernetes"]["keep_journal"]) == (False, False)


ASKED = "{{ lookup('alluxio.fuse.said', 'alluxio_under_readers') }}"
PLAY = f"""
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "{ASKED} {{{{ lookup('alluxio.fuse.said', 'alluxio_check_passes') }}}}"
    - ansible.builtin.fail:
        msg: readers are taken their files
      when: lookup('alluxio.fuse.said', 'alluxio_under_readers')
"""


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ([], 0, "False 5"),
        (["-e", "alluxio_under_readers=false", "-e", "alluxio_check_passes=7"], 0, "False 7"),
        (["-e", "alluxio_under_readers={{ taken }}", "-e", "taken=yes"], 2, "True 5"),
        (["-e", "alluxio_under_readers=perhaps"], 2, "alluxio_under_readers: 'perhaps'"),
    ],
)
def test_playbooks_read_it_through_ansible(tmp_path: Path, arguments: list[str], status: int, told: str) -> None:
    book = tmp_path / "said.yml"
    book.write_text(PLAY)
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", "localhost,", "-c", "local", str(book), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert told in done.stdout + done.stderr


def test_no_playbook_uses_a_variable_as_it_was_typed() -> None:
    """The text `false` is true in a condition, and a list of letters in a loop: playbooks ask the model for roles.

    The name of the inventory is no question: it is read to find out what was said.
    """
    typed = (FleetIntent.model_fields.keys() | NodeIntent.model_fields.keys()) - {"alluxio_environment"}
    # in messages a remedy follows: `name: true`, `name=true`, `name.key: true`; `fleet.name` is of a plan
    used = re.compile(rf"(?<!['.])\b(?:{'|'.join(sorted(typed))})\b(?![:=.])")
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("playbooks", "roles")
        for path in sorted((ROOT / folder).rglob("*.yml"))
        for line in path.read_text().splitlines()
        if path.parent.name != "meta" and used.search(line) and not line.strip().startswith("#")
    ]
    assert found == []

"""The set-up on Debian 11, whose Python 3.9 is too old for the bundle, as Ubuntu 22.04's is: it brings one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from checkout_node import CheckoutNode, checkout_node


@pytest.fixture(scope="module")
def node() -> Iterator[CheckoutNode]:
    with checkout_node("alluxio-fuse-test-debian11", "bullseye") as made:
        yield made


@pytest.fixture(scope="module", autouse=True)
def set_up(node: CheckoutNode) -> str:
    """What the set-up said."""
    return node.set_up()


def test_it_says_what_it_does(set_up: str) -> None:
    assert "no Python 3.11 or newer was found: Python 3.9" in set_up
    assert "/root/.cache/alluxio-fuse" in set_up
    assert "installing python3-venv" in set_up


def test_the_python_that_it_brought_runs_the_current_ansible_core(node: CheckoutNode) -> None:
    said = node.inside(".venv/bin/ansible-playbook --version")
    assert "core 2.21" in said
    assert "python version = 3.14" in said
    assert "pip 2" in node.inside(".venv/bin/python -m pip --version")


def test_again_there_is_nothing_to_do(node: CheckoutNode) -> None:
    assert node.inside("scripts/setup runtime") == ""
    assert node.inside("scripts/python 3.12") == "/root/.cache/alluxio-fuse/bin/python3.14\n"


def test_the_plan_is_derived(node: CheckoutNode) -> None:
    assert node.plan_of_one_file()["nodes"]["localhost"]["worker"]["heap"]["amount"] > 0

"""The bundle on Debian 13: Python 3.13, current ansible-core, the same playbooks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from checkout_node import CheckoutNode, checkout_node

ROLE = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: "{{ role }}"}
      vars:
        undo_name: alluxio-fuse
        undo_state_dir: /var/lib/alluxio-fuse
        cache_media_media:
          - {name: memory, medium: memory, kind: tmpfs, path: /srv/tier, size: 1048576, owner: 1000, mode: "0750"}
"""


@pytest.fixture(scope="module", autouse=True)
def node() -> Iterator[CheckoutNode]:
    with checkout_node("alluxio-fuse-test-debian13", "trixie") as made:
        made.set_up()
        yield made


def test_current_ansible_core(node: CheckoutNode) -> None:
    said = node.inside(".venv/bin/ansible-playbook --version")
    assert "core 2.21" in said
    assert "python version = 3.13" in said


def test_every_playbook_parses(node: CheckoutNode) -> None:
    node.inside(".venv/bin/ansible-playbook --syntax-check site.yml playbooks/*.yml")


def test_the_plan_is_derived(node: CheckoutNode) -> None:
    assert node.plan_of_one_file()["nodes"]["localhost"]["worker"]["heap"]["amount"] > 0


def test_a_role_applies_again_without_change_and_is_removed(node: CheckoutNode) -> None:
    node.inside(f"cat > role.yml <<'END'{ROLE}\nEND")
    apply = ".venv/bin/ansible-playbook role.yml -e role="
    assert "changed=0" not in node.inside(f"{apply}cache_media")
    assert "changed=0" in node.inside(f"{apply}cache_media")
    assert "tmpfs" in node.inside("findmnt /srv/tier")
    node.inside(f"{apply}undo && ! test -e /srv/tier && ! test -e /var/lib/alluxio-fuse")

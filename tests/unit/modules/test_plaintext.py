"""Secrets in plain text are found wherever an inventory's files hold them, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret
from ansible_collections.alluxio.fuse.plugins.module_utils import plaintext

from alluxio_fuse import preflight

CANARY = "canary"
KEYS = "alluxio_credentials:\n  imagenet: {access_key: AK, secret_key: canary}\n"
HERE = "alluxio_credentials.imagenet.secret_key"


def found(folder: Path) -> dict[str, Any]:
    said = plaintext.plain_secrets([str(folder)], str(folder / "playbooks"))
    assert CANARY not in str(said)
    return {str(Path(one["path"]).relative_to(folder)): one["keys"] for one in said}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "keys"),
    [
        ("group_vars/all/main.yml", KEYS, [HERE]),
        ("group_vars/all", f"vault_{KEYS}", [f"vault_{HERE}"]),
        ("host_vars/one.yaml", KEYS, [HERE]),
        ("playbooks/group_vars/all.yml", KEYS, [HERE]),
        ("group_vars/gpu/keys.json", '{"alluxio_credentials": {"imagenet": {"secret_key": "canary"}}}', [HERE]),
        ("hosts.yml", "all: {vars: {alluxio_credentials: {imagenet: {secret_key: canary}}}}", [f"all.vars.{HERE}"]),
        ("group_vars/all.yml", "vault_security_token: canary", ["vault_security_token"]),
        ("group_vars/all.yml", "ansible_become_password: canary", ["ansible_become_password"]),
        ("group_vars/all.yml", "ansible_ssh_pass: canary", ["ansible_ssh_pass"]),
        ("hosts", "[all]\none ansible_password=canary\n", ["ansible_password"]),
        ("hosts.ini", "[all:vars]\nalluxio_credentials={'imagenet': {'secret_key': 'canary'}}\n", ["secret_key"]),
        ("group_vars/all.yml", f"of_a_vault: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162\n{KEYS}", [HERE]),
    ],
)  # fmt: skip
def test_found(name: str, text: str, keys: list[str], tmp_path: Path) -> None:
    write(tmp_path / name, text)
    assert found(tmp_path) == {name: keys}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("group_vars/all.yml", VaultLib([("", VaultSecret(b"password"))]).encrypt(KEYS).decode()),
        ("group_vars/all.yml", "alluxio_credentials: {imagenet: {secret_key: !vault 'canary'}}"),
        ("group_vars/all.yml", "alluxio_credentials: {imagenet: {secret_key: \"{{ lookup('env', 'KEY') }}\"}}"),
        ("group_vars/all.yml", 'alluxio_credentials: "{{ vault_alluxio_credentials }}"\nansible_password:'),
        ("group_vars/all.yml", "alluxio_kubernetes: {secrets: {imagenet: keys}, pull_secrets: [registry]}"),
        ("group_vars/all/vault.yml.example", KEYS),
        ("group_vars/all/.hidden.yml", KEYS),
        ("notes/keys.md", KEYS),
        ("hosts", "[all]\none ansible_password={{ vault_password }}\n"),
        ("hosts.py", "#!/usr/bin/env python3\nansible_password = 'canary'\n"),
        ("inventories/local/group_vars/all/main.yml", KEYS),
    ],
)
def test_fine(name: str, text: str, tmp_path: Path) -> None:
    write(tmp_path / name, text)
    assert found(tmp_path) == {}


def test_a_file_is_looked_at_with_the_variables_beside_it_and_a_list_of_hosts_has_none(tmp_path: Path) -> None:
    write(tmp_path / "hosts.yml", "all: {hosts: {one: {}}}")
    write(tmp_path / "group_vars/all.yml", KEYS)
    write(tmp_path / "other/group_vars/all.yml", KEYS)
    (one,) = plaintext.plain_secrets([str(tmp_path / "hosts.yml"), "one,two,"], str(tmp_path / "none"))
    assert one == {"path": str(tmp_path / "group_vars/all.yml"), "keys": [HERE]}


def test_the_finding_names_file_and_switch() -> None:
    (one,) = preflight.plaintext([{"path": "/x/main.yml", "keys": [HERE]}], {})
    said = preflight.findings_text([one])
    for word in ("/x/main.yml", HERE, "ansible-vault encrypt /x/main.yml", "alluxio_allow_plaintext_credentials: true"):
        assert word in said


@pytest.mark.parametrize(("allowed", "count"), [(True, 0), ("yes", 0), (False, 1), ("false", 1)])
def test_the_switch_allows_it(allowed: bool | str, count: int) -> None:
    said = {"alluxio_allow_plaintext_credentials": allowed}
    assert len(preflight.plaintext([{"path": "/x/main.yml", "keys": [HERE]}], said)) == count

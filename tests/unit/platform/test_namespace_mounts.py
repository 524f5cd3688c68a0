"""The mount table of the namespace, as Alluxio prints it, against what is wanted."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.alluxio.fuse.plugins.modules import namespace_mounts as module

PRINTED = """\
2026-11-21 07:00:00 WARN something unrelated
/var/lib/x/namespace  on  /  (local, capacity=100.00GB, used=1.00GB, not read-only, not shared, properties={})
s3://training/set  on  /bucket  (s3, capacity=-1B, used=-1B, read-only, not shared, properties={a=b, \
alluxio.fuse.declaration=DIGEST})
"""
KEYS = {"bucket": {"access_key": "one", "secret_key": "canary"}}


def dataset(**other: Any) -> dict[str, Any]:
    wanted = {
        "name": "bucket",
        "alluxio_path": "/bucket",
        "source": "s3://training/set",
        "folder": "",
        "writable": False,
    }
    return wanted | {"options": {"a": "b"}} | other


def wanted(*datasets: dict[str, Any], keys: dict[str, dict[str, str]] = KEYS) -> dict[str, dict[str, Any]]:
    return {one["alluxio_path"]: {**one, "options": module.mount_options(one, keys)} for one in datasets}


def mounted(**other: Any) -> dict[str, dict[str, Any]]:
    """The table with one dataset as it was declared."""
    digest = module.mount_options(dataset(**other), KEYS)[module.MARK]
    table: dict[str, dict[str, Any]] = module.parse_mount_table(PRINTED.replace("DIGEST", digest))
    return table


def test_parse() -> None:
    assert module.parse_mount_table(PRINTED.replace("DIGEST", "0a1b")) == {
        "/": {"source": "/var/lib/x/namespace", "writable": True, "declared": ""},
        "/bucket": {"source": "s3://training/set", "writable": False, "declared": "0a1b"},
    }


def test_as_wanted() -> None:
    assert module.differences(mounted(), wanted(dataset())) == ([], [], [])


def test_one_gone_and_one_come() -> None:
    other = wanted(dataset(name="other", alluxio_path="/other", source="file:///data", folder="/data"))
    assert module.differences(mounted(), other) == (["/bucket"], ["/other"], [])


def test_what_a_node_has_mounted_is_its_folder() -> None:
    exported = dataset(source="nfs://filer/set", folder="/var/lib/d/nfs/filer/set")
    assert module.mount_arguments("mount", exported)[-1] == "/var/lib/d/nfs/filer/set"


def test_another_source_or_mode_is_mounted_again() -> None:
    for change in ({"source": "s3://training/other"}, {"writable": True}):
        assert module.differences(mounted(), wanted(dataset(**change))) == (["/bucket"], ["/bucket"], [])


def test_another_option_or_key_is_told() -> None:
    assert module.differences(mounted(), wanted(dataset(options={"a": "c"}))) == ([], [], ["/bucket"])
    for change in ({"access_key": "two"}, {"secret_key": "two"}):
        keys = {"bucket": KEYS["bucket"] | change}
        assert module.differences(mounted(), wanted(dataset(), keys=keys)) == ([], [], ["/bucket"])
    before = module.parse_mount_table(PRINTED.replace("alluxio.fuse.declaration", "other"))
    assert module.differences(before, wanted(dataset())) == ([], [], ["/bucket"])


def test_each_dataset_has_its_own_keys() -> None:
    options = module.mount_options(dataset(), KEYS)
    assert (options["s3a.accessKeyId"], options["s3a.secretKey"]) == ("one", "canary")
    assert "canary" not in options[module.MARK]
    assert "s3a.secretKey" not in module.mount_options(dataset(name="other"), KEYS)


def test_keys_of_oss_are_its_own_options() -> None:
    temporary = {"bucket": KEYS["bucket"] | {"security_token": "canary too"}}
    options = module.mount_options(dataset(source="oss://training/set"), temporary)
    assert {key: value for key, value in options.items() if key.startswith("fs.oss.")} == {
        "fs.oss.accessKeyId": "one",
        "fs.oss.accessKeySecret": "canary",
        "fs.oss.securityToken": "canary too",
    }
    assert "s3a.secretKey" not in options
    assert "fs.oss.securityToken" not in module.mount_options(dataset(source="oss://training/set"), KEYS)


def test_arguments() -> None:
    told = dataset(options={"a": "b"})
    assert module.mount_arguments("mount", told) == [
        "mount", "--readonly", "--option", "a=b", "/bucket", "s3://training/set",
    ]  # fmt: skip
    assert module.mount_arguments("updateMount", told) == ["updateMount", "--readonly", "--option", "a=b", "/bucket"]
    assert "--readonly" not in module.mount_arguments("mount", dataset(writable=True))


def test_arguments_as_java_reads_them() -> None:
    assert module.argument_file(["plain", 'a "b" \\ #c']) == '"plain"\n"a \\"b\\" \\\\ #c"\n'


def test_keys_are_in_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[list[str], str]] = []
    monkeypatch.setattr(module, "run", lambda command, _, text: commands.append((command, text)))
    module.told(["podman", "exec", "master", "alluxio"], "mount", wanted(dataset())["/bucket"])
    ((command, text),) = commands
    assert command[:3] == ["podman", "exec", "master"]
    assert "canary" not in " ".join(command)
    assert '"s3a.secretKey=canary"\n' in text


def test_a_master_that_was_just_started_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [module.CliError("refused"), module.CliError("refused"), "the table"]

    def run(_command: list[str], _about: str) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(module.CliError):
        module.listed(["alluxio"], 0)
    assert module.listed(["alluxio"], 60) == "the table"


@pytest.mark.parametrize(
    ("answers", "answer"),
    [
        (["900", "900", "100"], {"changed": True, "unmounted": ["/bucket"], "mounted": []}),
        ([], {"changed": False, "unknown": "away"}),
    ],
    ids=["it waits until it is freed", "a master that is away is no failure"],
)
def test_what_is_not_planned_is_freed_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: list[str], answer: dict[str, Any]
) -> None:
    """Before workers get tiers that hold less; nothing is mounted yet."""
    told: list[list[str]] = []

    def run(command: list[str], _about: str) -> str:
        told.append(command[2:])
        if not answers:
            raise module.CliError("away")
        return f"Used Bytes: {answers.pop(0)}\n" if command[2] == "getUsedBytes" else PRINTED

    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    other = dataset(name="other", alluxio_path="/other", source="file:///data")
    with patch_module_args({"cli": ["alluxio"], "datasets": [other], "free_to": 500}), pytest.raises(SystemExit):
        module.main()
    said = json.loads(capsys.readouterr().out)
    assert {key: said[key] for key in answer} == answer
    assert [one[0] for one in told] == (["mount", "unmount", *["getUsedBytes"] * 3] if said["changed"] else ["mount"])


def test_a_command_line_that_fails_says_so() -> None:
    with pytest.raises(module.CliError, match=r"alluxio fs mount /bucket: away"):
        module.run(["sh", "-c", "echo away; exit 1"], "mount /bucket")
    with pytest.raises(module.CliError, match="no-such-program"):
        module.run(["no-such-program"], "mount")

"""The mount table of the namespace, as Alluxio prints it, against what is wanted."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.modules import namespace_mounts as module

PRINTED = """\
2026-11-21 07:00:00 WARN something unrelated
/var/lib/x/namespace  on  /  (local, capacity=100.00GB, used=1.00GB, not read-only, not shared, properties={})
s3://training/set  on  /bucket  (s3, capacity=-1B, used=-1B, read-only, not shared, properties={a=b})
"""


def dataset(**other: Any) -> dict[str, Any]:
    wanted = {"alluxio_path": "/bucket", "source": "s3://training/set", "writable": False, "options": {"a": "b"}}
    return wanted | other


def test_parse() -> None:
    assert module.parse_mount_table(PRINTED) == {
        "/": {"source": "/var/lib/x/namespace", "writable": True},
        "/bucket": {"source": "s3://training/set", "writable": False},
    }


def test_as_wanted() -> None:
    assert module.differences(module.parse_mount_table(PRINTED), [dataset()]) == ([], [])


def test_one_gone_and_one_come() -> None:
    other = dataset(alluxio_path="/other", source="file:///data")
    assert module.differences(module.parse_mount_table(PRINTED), [other]) == (["/bucket"], [other])


def test_another_source_or_mode_is_mounted_again() -> None:
    for change in ({"source": "s3://training/other"}, {"writable": True}):
        wanted = dataset(**change)
        assert module.differences(module.parse_mount_table(PRINTED), [wanted]) == (["/bucket"], [wanted])


def test_arguments() -> None:
    assert module.mount_arguments(dataset()) == [
        "fs", "mount", "--readonly", "--option", "a=b", "/bucket", "s3://training/set",
    ]  # fmt: skip
    assert "--readonly" not in module.mount_arguments(dataset(writable=True))


def test_a_command_line_that_fails_says_so() -> None:
    with pytest.raises(module.CliError, match=r"alluxio fs mount .*: away"):
        module.run(["sh", "-c", "echo away; exit 1"], "fs", "mount")
    with pytest.raises(module.CliError, match="no-such-program"):
        module.run(["no-such-program"])

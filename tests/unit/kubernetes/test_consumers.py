"""Pods that read as consumers, and how their outcome is judged."""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import manifests
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest, reader
from planned import plan_of

from alluxio_fuse.kubernetes import consumers
from alluxio_fuse.plan import Plan

GROUP = 2000
FREE: list[dict[str, Any]] = [{"users": []}, {"users": []}]
MB = 10**6
HEADER = {"digested": {"seed": 0}, "version": reader.MANIFEST_VERSION, "large_bytes": manifest.LARGE_BYTES}
FILES = {"a.jsonl": json.dumps(HEADER)}


def plan(mode: str = "0755", uid: int = 0, gid: int = GROUP, platform: str = "kubernetes") -> Plan:
    dataset = {"name": "a", "files": 10, "bytes": 1000, "readers": {"uid": uid, "gid": gid, "mode": mode}}
    about = {"image": "r/i:1", "platform": platform, "kubernetes": {"pull_secrets": ["hub"]}}
    return plan_of("d", {"datasets": [dataset], **about}, {})


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every uid may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def listed(place: Path) -> Path:
    """The manifest of 20 files in folder `data`."""
    root = place / "parent" / "data"
    root.mkdir(parents=True)
    for index in range(20):
        (root / f"{index}.jpg").write_bytes(bytes([index]) * 1000)
    return manifests.save(root, place / "a.jsonl")


def said_by_reader(listed: Path, *arguments: str) -> tuple[str, str]:
    """Log and phase of the reader itself, in a process of another uid where this one is root."""
    log = listed.with_name("log")
    child = os.fork()
    if child == 0:
        status = 70
        try:
            with log.open("w") as stream:
                sys.argv, sys.stdout = (
                    ["reader.py", str(listed), str(listed.with_name("parent") / "data"), *arguments],
                    stream,
                )
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(consumers.SPARE[0])
                    os.setuid(consumers.SPARE[0])
                reader.main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return log.read_text(), "Failed" if status else "Succeeded"


@pytest.fixture
def right(listed: Path) -> tuple[str, str]:
    return said_by_reader(listed)


@pytest.fixture
def denied(listed: Path) -> tuple[str, str]:
    listed.with_name("parent").chmod(0)  # even its owner may not
    return said_by_reader(listed)


def outcome(mode: str, user: tuple[int, int], log: str, phase: str, why: str = "") -> dict[str, Any]:
    uid, gid = user
    annotations = {"alluxio-fuse/dataset": "a", "alluxio-fuse/uid": str(uid), "alluxio-fuse/gid": str(gid)}
    result = {"name": f"p-{uid}", "node": "n", "annotations": annotations, "phase": phase, "log": log, "why": why}
    (line,) = consumers.consumer_lines(plan(mode), [result], {"n": FREE})
    return dict(line)


OWNER, MEMBER, STRANGER = (0, GROUP), (65532, GROUP), (65533, 65533)


def test_every_host_gets_a_reader_a_member_of_the_group_and_a_stranger_without_rights() -> None:
    pods = consumers.consumer_pods(plan(uid=1000), "ns", {"n1": FREE, "n2": FREE}, FILES)
    assert len(pods) == len({pod["metadata"]["name"] for pod in pods}) == 6
    contexts = [pod["spec"]["containers"][0]["securityContext"] for pod in pods]
    users = {(context["runAsUser"], context["runAsGroup"]) for context in contexts}
    assert users == {(1000, GROUP), MEMBER, STRANGER}
    assert all(context["capabilities"] == {"drop": ["ALL"]} for context in contexts)
    assert all(context["runAsNonRoot"] for context in contexts)
    assert all(pod["spec"]["imagePullSecrets"] == [{"name": "hub"}] for pod in pods)


def test_who_is_nobody_is_none_of_the_readers() -> None:
    pods = consumers.consumer_pods(plan(uid=65533, gid=65532), "ns", {"n": FREE}, FILES)
    users = [int(pod["metadata"]["annotations"]["alluxio-fuse/uid"]) for pod in pods]
    assert users == [65533, 65530, 65531]


@pytest.mark.parametrize(
    ("mode", "user", "words"),
    [
        ("0755", STRANGER, "20 files compared"),
        ("0750", MEMBER, "20 files compared"),
        ("0700", OWNER, "20 files compared"),
    ],
)
def test_who_may_read_and_does(mode: str, user: tuple[int, int], words: str, right: tuple[str, str]) -> None:
    line = outcome(mode, user, *right)
    assert line["right"], line
    assert words in line["text"]


@pytest.mark.parametrize(("mode", "user"), [("0750", STRANGER), ("0700", MEMBER)])
def test_who_may_not_read_and_does(mode: str, user: tuple[int, int], right: tuple[str, str]) -> None:
    line = outcome(mode, user, *right)
    assert not line["right"]
    assert "NOT DENIED" in line["text"]


@pytest.mark.parametrize(("mode", "user"), [("0750", STRANGER), ("0700", MEMBER)])
def test_who_may_not_read_and_is_denied(mode: str, user: tuple[int, int], denied: tuple[str, str]) -> None:
    assert outcome(mode, user, *denied)["text"].endswith("denied, as declared")


@pytest.mark.parametrize(("mode", "user"), [("0755", STRANGER), ("0750", MEMBER), ("0700", OWNER)])
def test_who_may_read_and_is_denied(mode: str, user: tuple[int, int], denied: tuple[str, str]) -> None:
    line = outcome(mode, user, *denied)
    assert not line["right"]
    assert "FAILED" in line["text"]
    assert "Permission denied" in line["text"]


def test_one_file_that_a_stranger_gets_is_not_denied(listed: Path) -> None:
    parent = listed.with_name("parent")
    for path in sorted((parent / "data").iterdir())[1:]:
        path.chmod(0)
    line = outcome("0750", STRANGER, *said_by_reader(listed))
    assert not line["right"]
    assert "Permission denied" in line["text"]


def test_a_mount_that_is_broken_is_no_denial(listed: Path) -> None:
    listed.with_name("parent").rename(listed.with_name("elsewhere"))
    line = outcome("0750", STRANGER, *said_by_reader(listed))
    assert not line["right"]
    assert "No such file" in line["text"]


@pytest.mark.parametrize("log", ["ModuleNotFoundError", "", "{}", "[]", "null", "Permission denied"])
@pytest.mark.parametrize("user", [OWNER, STRANGER])
def test_a_reader_that_did_not_run_proves_nothing(log: str, user: tuple[int, int]) -> None:
    assert not outcome("0750", user, log, "Failed")["right"]


def test_a_pod_that_failed_is_not_right(right: tuple[str, str]) -> None:
    assert not outcome("0755", OWNER, right[0], "Failed")["right"]


def test_a_node_that_somebody_uses_is_left_alone() -> None:
    seen: dict[str, list[dict[str, Any]]] = {
        "free": FREE,
        "used": [{"users": []}, {"users": ["python (42)", "GPU 0 at 97 %"]}],
    }
    pods = consumers.consumer_pods(plan(), "ns", seen, FILES)
    assert {pod["spec"]["nodeName"] for pod in pods} == {"free"}
    (line,) = consumers.consumer_lines(plan(), [], seen)
    assert line == {"right": True, "text": "used: left alone, in use by GPU 0 at 97 %, python (42)"}


@pytest.mark.parametrize(
    ("why", "right", "words"),
    [
        ("OutOfcpu Node didn't have enough resource: cpu", True, "not tried, no room: OutOfcpu"),
        ("Evicted The node was low on resource: memory.", False, "low on resource: memory"),
    ],
)
@pytest.mark.parametrize("user", [OWNER, STRANGER])
def test_a_full_node_is_no_fault_of_ours_and_is_told(why: str, right: bool, words: str, user: tuple[int, int]) -> None:
    line = outcome("0750", user, "", "Failed", why)
    assert line["right"] is right
    assert words in line["text"]


def test_pods_take_little_of_a_node_and_have_a_limit() -> None:
    (pod, *_) = consumers.consumer_pods(plan(), "ns", {"n": FREE}, FILES)
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["requests"].keys() == resources["limits"].keys() == {"cpu", "memory"}


def made_of(sizes: list[int], digests: Callable[[int], bool] = bool) -> str:
    """A manifest as the module writes it."""
    rows = [
        {
            "path": str(number),
            "type": "file",
            "size": size,
            "digest": {"algorithm": "sha256", "value": "x", "of": "source"} if digests(size) else {"of": "none"},
        }
        for number, size in enumerate(sizes)
    ]
    return "\n".join(json.dumps(row) for row in [HEADER, *rows]) + "\n"


def test_a_manifest_is_cut_to_files_with_digests() -> None:
    text = made_of([10, 9, 8, 7, 6], digests=lambda size: size % 2 == 1)
    header, *kept = consumers.manifest_part(text, files=2).splitlines()
    assert json.loads(header) == HEADER
    assert [json.loads(row)["size"] for row in kept] == [7, 9]
    assert len(consumers.manifest_part(text, files=1).splitlines()) == 2


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([10 * MB] * 3, [10 * MB]),  # small to the reader, whatever their mean
        ([140 * MB, 150 * MB], [140 * MB]),
        ([1000, 140 * MB], [1000]),
        ([5 * MB] * 7, [5 * MB] * 3),
        ([0, 0, 140 * MB], [0, 0]),
        ([100] * 500, [100] * 200),
    ],
)
def test_every_chosen_file_is_read_by_the_reader_and_few_bytes_are(
    sizes: list[int], kept: list[int], tmp_path: Path
) -> None:
    files = consumers.reader_files("d", "ns", "", {"a": made_of(sizes, digests=lambda _: True)})["data"]
    (tmp_path / "a.jsonl").write_text(files["a.jsonl"])
    pod = consumers.consumer_pods(plan(), "ns", {"n": FREE}, files)[0]
    kind = pod["spec"]["containers"][0]["command"][-1]
    header, entries = reader.load(str(tmp_path / "a.jsonl"))
    assert [entry.size for entry in reader.select(header, entries, reader.Selection(kind, 0, None))] == kept


def test_where_fluid_runs_the_services_pods_mount_its_claim() -> None:
    pods = consumers.consumer_pods(plan(platform="fluid"), "ns", {"n": FREE}, FILES)
    for pod in pods:
        assert pod["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "a", "readOnly": True}
        mounted = {"name": "data", "mountPath": "/data/data", "subPath": "a", "readOnly": True}
        assert pod["spec"]["containers"][0]["volumeMounts"][0] == mounted

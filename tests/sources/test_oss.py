"""The main job on an oss:// source, in real Alluxio with the vendor's own Java client.

The store is a stand-in that verifies signatures, tests/lab/oss_stand_in.py.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trees
from bundle import C1_ALONE, CHECKOUT, Run, judged, latest, playbook, podman, succeed, until
from object_store import own_address
from oss_stand_in import Key, Serving, oss_stand_in

NAME = "oss"
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-bucket", "fuse-live")
BUCKET, LIVE = (Path(f"/mnt/{NAME}/{name}/data") for name in ("bucket", "live"))
PROMISE_S = 20
NEXT = ("STS.canary-id", Key("canary-of-sts", "canary-token"))


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with trees.source(NAME) as folder:
        yield folder


@pytest.fixture(scope="module")
def serving(directory: Path) -> Iterator[Serving]:
    with oss_stand_in(own_address()) as running:
        for path in (path for path in directory.rglob("*") if path.is_file()):
            running.store.put("training", f"set/{path.relative_to(directory)}", path.read_bytes())
        for number in range(4):
            running.store.put("training", f"live/a b/{number}.bin", bytes([number]) * 200_000)
        yield running


@pytest.fixture(scope="module")
def former(serving: Serving) -> tuple[str, str]:
    """The key that the deployment begins with."""
    return serving.access_key, serving.store.keys[serving.access_key].secret


@pytest.fixture(scope="module")
def variables(serving: Serving, former: tuple[str, str]) -> dict[str, Any]:
    live = {"name": "live", "source": "oss://training/live", "freshness": f"within: {PROMISE_S}s"}
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2800,
        "alluxio_datasets": [
            {"name": "bucket", "source": "oss://training/set", "oss": serving.oss},
            {**live, "oss": serving.oss},
        ],
        "alluxio_credentials": dict.fromkeys(("bucket", "live"), serving.keys),
        "alluxio_gate_min_disk_ratio": 0.01,
        "alluxio_check_passes": 1,
        **C1_ALONE,
    }


def test_every_byte(first: Run, serving: Serving, directory: Path) -> None:
    assert trees.digests(BUCKET) == trees.digests(directory)
    assert trees.of_another_time(NAME, "bucket") == []
    asked = [one for one in serving.store.asked if one.bucket == "training"]
    assert {one.method for one in asked} == {"GET", "HEAD"}
    assert {one.code for one in asked} <= {"", "NoSuchKey", "AccessDenied"}  # the last of the bucket's owner


def test_every_cache_state_is_established(first: Run) -> None:
    """A busy machine may leave speed undecided, and says so."""
    check = latest("check")
    assert check["verdict"] in ("PASS", "CANNOT TELL"), check["reasons"]
    (bucket,) = (dataset for dataset in check["datasets"] if dataset["name"] == "bucket")
    assert bucket["wrong"] == 0
    assert bucket["digested"] >= bucket["files"] == len(trees.FILES)
    rows = [row for row in bucket["rows"] if row["path"] == "mount"]
    assert {row["state"] for row in rows} >= {"cold", "worker", "client-cache", "page-cache"}
    assert [row["why"] for row in rows if not row["established"]] == []


def test_it_cannot_be_written_to(first: Run, serving: Serving) -> None:
    with pytest.raises(OSError, match="Read-only file system"):
        (BUCKET / "new").touch()
    assert not {one.method for one in serving.store.asked} - {"GET", "HEAD"}


def test_the_second_run_changes_nothing(first: Run, variables: dict[str, Any]) -> None:
    run = judged(playbook("site.yml", **variables))
    assert (run.changed, run.tasks("changed")) == (0, [])


def test_preflight_tells_the_store_s_own_error_of_each(first: Run, variables: dict[str, Any], serving: Serving) -> None:
    with oss_stand_in(own_address()) as late:
        late.store.put("training", "set/a", b"a")
        late.store.clock = 3600
        right = {"oss": serving.oss, "files": 1, "bytes": "1Mi"}
        wrong = {
            "secret": {**right, "source": "oss://training/a"},
            "key": {**right, "source": "oss://training/b"},
            "bucket": {**right, "source": "oss://no-such-bucket/c"},
            "region": {**right, "source": "oss://training/d", "oss": {**serving.oss, "region": "cn-beijing"}},
            "endpoint": {
                **right,
                "source": "oss://training/e",
                "oss": {**serving.oss, "endpoint": "http://127.0.0.1:9"},
            },
            "clock": {**right, "source": "oss://training/set", "oss": late.oss},
        }
        keys = {
            **dict.fromkeys(wrong, serving.keys),
            "secret": {**serving.keys, "secret_key": "canary-wrong"},
            "key": {**serving.keys, "access_key": "nobody"},
            "clock": late.keys,
        }
        said = {
            **variables,
            "alluxio_datasets": [{"name": name, **one} for name, one in wrong.items()],
            "alluxio_credentials": keys,
        }
        run = playbook("playbooks/preflight.yml", **said)
    assert run.status != 0
    text = " ".join(run.output.split())
    for message in (
        "denied on localhost: SignatureDoesNotMatch: The request signature we calculated",
        "denied on localhost: InvalidAccessKeyId: The OSS Access Key Id you provided does not exist",
        "missing on localhost: NoSuchBucket: The specified bucket does not exist",
        "unreachable on localhost: InvalidArgument: Invalid signing region",
        "Connection refused",
        "denied on localhost: RequestTimeTooSkewed: The difference between the request time and the current time",
    ):
        assert message in text, run.output[-6000:]
    assert "canary-wrong" not in run.output


def test_a_change_is_seen_in_time(first: Run, serving: Serving) -> None:
    path, content = LIVE / "a b/1.bin", b"s" * 200_000
    assert path.read_bytes() == bytes([1]) * 200_000
    serving.store.put("training", "live/a b/1.bin", content)
    until("the change", lambda: path.read_bytes() == content, PROMISE_S + 5)


def test_what_is_cached_is_read_while_the_store_is_away(
    first: Run, serving: Serving, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = trees.digests(directory)
    subprocess.run(["sysctl", "-q", "vm.drop_caches=3"], check=True)
    with monkeypatch.context() as away:
        away.setattr(serving.store, "away", True)
        assert trees.digests(BUCKET) == wanted
    with monkeypatch.context() as refusing:
        refusing.setattr(serving.store, "keys", {})
        subprocess.run(["sysctl", "-q", "vm.drop_caches=3"], check=True)
        assert trees.digests(BUCKET) == wanted


def test_temporary_keys_take_over_without_a_restart(first: Run, serving: Serving, variables: dict[str, Any]) -> None:
    """As new names prove, which no cache holds."""
    started = podman("inspect", "--format", "{{.State.StartedAt}}", *(f"{NAME}-{name}" for name in SERVICES))
    identifier, key = NEXT
    serving.store.keys[identifier] = key
    temporary = {"access_key": identifier, "secret_key": key.secret, "security_token": key.token}
    said = {**variables, "alluxio_credentials": dict.fromkeys(("bucket", "live"), temporary)}
    succeed(playbook("playbooks/services.yml", **said))
    del serving.store.keys[serving.access_key]
    serving.store.put("training", "live/a b/new.bin", b"new" * 10)
    until("a new object", lambda: (LIVE / "a b/new.bin").read_bytes() == b"new" * 10, PROMISE_S + 60)
    assert podman("inspect", "--format", "{{.State.StartedAt}}", *(f"{NAME}-{name}" for name in SERVICES)) == started


def test_no_key_is_anywhere(first: Run, former: tuple[str, str]) -> None:
    """But in the journal, whose folder is its service's alone. Last: of the keys that were, too."""
    identifier, key = NEXT
    canaries = (*former, identifier, key.secret, key.token)
    told = [first.output]
    for command in (
        ["ps", "-eww", "-o", "args"],
        *(["podman", verb, f"{NAME}-{service}"] for verb in ("inspect", "logs") for service in SERVICES),
        ["podman", "exec", f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fs", "mount"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told += [done.stdout, done.stderr]
    told += [path.read_text(errors="replace") for path in (CHECKOUT / "runs").rglob("*") if path.is_file()]
    for text in told:
        for canary in canaries:
            assert canary not in text, text[max(0, text.find(canary) - 300) : text.find(canary)]
    journal = Path(f"/var/lib/{NAME}/journal")
    files = [path for path in Path(f"/var/lib/{NAME}").rglob("*") if path.is_file()]
    holders = [path for path in files if any(canary.encode() in path.read_bytes() for canary in canaries)]
    assert holders
    assert [path for path in holders if not path.is_relative_to(journal)] == []

"""fio leaves the end of a file out and ends well: every byte of the manifest has to be asked for, and be read."""

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fio
from ansible_collections.alluxio.fuse.plugins.module_utils.reader import Entry

ENTRIES = [Entry("a", 2_500_000, None), Entry("b:c", 1 << 20, None), Entry("d", 10, None)]


def answer(*jobs: tuple[str, int, float], error: int = 0) -> str:
    """What fio prints: name, bytes, milliseconds of each job."""
    latencies = {"percentile": {"50.000000": 400_000, "99.000000": 2_000_000}}
    read = [{"io_bytes": size, "runtime": runtime, "clat_ns": latencies} for _, size, runtime in jobs]
    fields = {"error": error, "usr_cpu": 1.0, "sys_cpu": 4.0}
    found = [{"jobname": job[0], "read": figures, **fields} for job, figures in zip(jobs, read, strict=True)]
    return "fio: a warning\n" + json.dumps({"jobs": found})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stands in for fio's process; keeps its command line."""
    said = SimpleNamespace(stdout="", stderr="", returncode=0, command=[])

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        said.command = command
        return said

    monkeypatch.setattr(subprocess, "run", run)
    return said


def test_every_byte_is_asked_for_once(fake: SimpleNamespace) -> None:
    fake.stdout = answer(
        ("0.0", 2 << 20, 20.0), ("0.1", 2_500_000 - (2 << 20), 5.0), ("0.2", 10, 1.0), ("1.0", 1 << 20, 9.0)
    )
    result = fio.timed("/mnt", ENTRIES, 2)
    assert (result["bytes"], result["wrong"]) == (2_500_000 + (1 << 20) + 10, 0)
    assert result["seconds"] == pytest.approx(0.026)
    sizes = [int(argument.partition("=")[2]) for argument in fake.command if argument.startswith("--size=")]
    assert sum(sizes) == result["expected_bytes"]
    assert "--filename=/mnt/b\\:c" in fake.command
    assert [argument for argument in fake.command if argument.startswith("--wait_for=")] == [
        "--wait_for=0.0",
        "--wait_for=0.1",
    ]


def test_bytes_that_were_not_read_are_a_problem(fake: SimpleNamespace) -> None:
    fake.stdout = answer(("0.0", 2 << 20, 20.0))
    result = fio.timed("/mnt", ENTRIES[:1], 1)
    assert result["problems"] == [{"path": "fio", "what": "2097152 of 2500000 bytes"}]


def test_a_job_that_failed_is_a_problem(fake: SimpleNamespace) -> None:
    fake.stdout = answer(("0.0", 2_500_000, 20.0), error=5)
    assert fio.timed("/mnt", ENTRIES[:1], 1)["problems"] == [{"path": "fio", "what": "job 0.0 failed"}]


def test_what_fio_complains_of_is_said(fake: SimpleNamespace) -> None:
    fake.stderr, fake.returncode = "fio: unknown engine", 1
    with pytest.raises(OSError, match="fio ended with 1: fio: unknown engine"):
        fio.timed("/mnt", ENTRIES[:1], 1)


@pytest.mark.parametrize("pattern", ["mix", "tokens"])
def test_random_blocks_too_ask_for_every_byte_once(pattern: str, fake: SimpleNamespace) -> None:
    fake.stdout = answer(("0.0", 2_500_000, 20.0))
    fio.timed("/mnt", ENTRIES, 2, pattern)
    block, settings = fio.PATTERNS[pattern]
    sizes = [int(argument.partition("=")[2]) for argument in fake.command if argument.startswith("--size=")]
    assert sizes == [2_500_000 // block * block, 2_500_000 % block, 10, 1 << 20]
    parts = [part.partition("/") for part in settings["bssplit"].split(":")]
    assert sum(int(share) for _, _, share in parts) == 100
    assert min(int(size.removesuffix("K")) * 1024 for size, _, _ in parts) == block
    assert fake.command.count(f"--bssplit={settings['bssplit']}") == fake.command.count("--rw=randread") == 2


def test_a_file_is_mapped_but_for_what_is_no_whole_block(fake: SimpleNamespace) -> None:
    fake.stdout = answer(("0.0", 2_500_000, 20.0))
    fio.timed("/mnt", ENTRIES, 2, "mapped")
    engines = [argument for argument in fake.command if argument.startswith("--ioengine=")]
    assert engines == ["--ioengine=mmap", "--ioengine=psync", "--ioengine=psync", "--ioengine=mmap"]

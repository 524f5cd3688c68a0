"""An archive of an image is read only if every blob of it is what its name says."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import oci_archive
from ansible_collections.alluxio.fuse.plugins.modules import image_facts

CONFIG = {"os": "linux", "architecture": "amd64", "config": {"Labels": {"alluxio-fuse.inputs": "x"}}}
LAYER = b"layer" * 1000


def described(blob: bytes) -> dict[str, str]:
    return {"digest": f"sha256:{hashlib.sha256(blob).hexdigest()}"}


def files() -> dict[str, bytes]:
    """An archive's files; those named by a digest are blobs."""
    config = json.dumps(CONFIG).encode()
    manifest = json.dumps({"config": described(config), "layers": [described(LAYER)]}).encode()
    blobs = {f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}": blob for blob in (LAYER, config, manifest)}
    return {**blobs, "index.json": json.dumps({"manifests": [described(manifest)]}).encode(), "oci-layout": b"{}"}


def packed(path: Path, holds: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in holds.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def name(blob: bytes) -> str:
    return f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}"


def test_a_whole_archive_is_told_by_digest_platform_and_labels(tmp_path: Path) -> None:
    holds = files()
    manifest = json.loads(holds["index.json"])["manifests"][0]
    assert image_facts.read(str(packed(tmp_path / "a.tar", holds))) == {
        "state": "there",
        "detail": "",
        "digest": manifest["digest"],
        "platform": "linux/amd64",
        "labels": {"alluxio-fuse.inputs": "x"},
    }


def test_a_changed_byte_is_told_with_both_checksums(tmp_path: Path) -> None:
    wrong = LAYER.replace(b"l", b"L", 1)
    path = packed(tmp_path / "a.tar", {**files(), name(LAYER): wrong})
    found = image_facts.read(str(path))
    assert found["state"] == "broken"
    assert found["detail"] == f"{path}: {name(LAYER)} has the sha256 {hashlib.sha256(wrong).hexdigest()}"
    assert found["digest"] == ""


def test_a_cut_off_archive_is_broken(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tar", files())
    whole = path.read_bytes()
    for length in (0, 700, len(LAYER), len(LAYER) + 700, len(LAYER) + 1500):
        path.write_bytes(whole[:length])
        with pytest.raises(oci_archive.BrokenArchiveError, match="no whole archive"):
            oci_archive.read(str(path))


@pytest.mark.parametrize("lacking", [name(LAYER), "index.json"])
def test_an_archive_that_lacks_a_part_is_broken(tmp_path: Path, lacking: str) -> None:
    holds = {one: content for one, content in files().items() if one != lacking}
    with pytest.raises(oci_archive.BrokenArchiveError, match=lacking):
        oci_archive.read(str(packed(tmp_path / "a.tar", holds)))


def test_no_archive_is_no_failure(tmp_path: Path) -> None:
    assert image_facts.read(str(tmp_path / "a.tar"))["state"] == "absent"

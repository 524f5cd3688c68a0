"""An ETag is a digest only of a source whose ETags were seen to be the MD5 of their objects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import etags, manifest_making, reader
from oss_stand_in import Serving, oss_stand_in

FILES, BYTES = 900, 1000
LIMIT = 500 * BYTES  # of what is read: about 500 of the objects
LISTED = {f"{number % 3}/{number:04}.bin": number.to_bytes(4, "big") * (BYTES // 4) for number in range(FILES)}
Made = Callable[..., dict[str, Any]]


@pytest.fixture
def serving() -> Iterator[Serving]:
    with oss_stand_in() as running:
        for name, content in LISTED.items():
            running.store.put("training", f"set/{name}", content)
        yield running


@pytest.fixture
def made(serving: Serving, tmp_path: Path) -> Made:
    """Make the manifest, as the playbook does; what is said beside it in `said`."""

    def make(**options: Any) -> dict[str, Any]:
        said: list[str] = []
        params = {
            "source": "oss://training/set",
            "path": str(tmp_path / "set.jsonl"),
            "digest_bytes": LIMIT,
            "seed": 0,
            "unreadable_names": "refuse",
            "store": serving.oss,
            "security_token": "",
            **serving.keys,
            **options,
        }
        answer = manifest_making.made(params, check=False, warn=said.append, say=said.append)
        return {**answer, "said": said, "asked": len([one for one in serving.store.asked if one.key])}

    return make


def rows(path: str) -> dict[str, dict[str, Any]]:
    """Digests of a manifest by path."""
    lines = reader.read_manifest(path)
    next(lines)
    return {row["path"]: row["digest"] for row in lines if row["type"] == "file"}


def kinds(path: str) -> list[str]:
    return [digest.get("algorithm", "none") for digest in rows(path).values()]


def test_what_is_not_read_has_its_etag_where_all_others_are_md5(made: Made) -> None:
    answer = made()
    head = answer["manifest"]
    read, left = head["digested"]["files"], FILES - head["digested"]["files"]
    assert read >= etags.ENOUGH
    assert head["etags"] == {"compared": read, "other": 0, "files": left, "bytes": left * BYTES}
    assert head["coverage"] == "all"
    assert answer["said"][-1] == (
        f"set: {left} more, 0.0 GB, have their ETag as digest: it was the MD5 of all {read} that were read"
    )
    assert (kinds(answer["path"]).count("sha256"), kinds(answer["path"]).count("md5")) == (read, left)
    assert json.loads(Path(answer["path"]).read_text().partition("\n")[0]) == head
    for name, digest in rows(answer["path"]).items():
        assert digest["value"] == hashlib.new(digest["algorithm"], LISTED[name]).hexdigest()
        assert digest["of"] == "source"


def test_the_header_says_it_again_when_nothing_changed(made: Made) -> None:
    first, again = made(), made()
    assert (again["changed"], again["manifest"], again["said"]) == (False, first["manifest"], [])


def test_a_set_that_is_read_whole_is_as_before(made: Made) -> None:
    answer = made(digest_bytes=FILES * BYTES)
    assert answer["manifest"]["etags"] == {"compared": 0, "other": 0, "files": 0, "bytes": 0}
    assert set(kinds(answer["path"])) == {"sha256"}
    assert {tuple(digest) for digest in rows(answer["path"]).values()} == {("algorithm", "value", "of")}
    assert not any("ETag" in line for line in answer["said"])


def test_one_that_is_no_md5_has_none_used(made: Made, serving: Serving) -> None:
    """As of an object that was appended to, or is encrypted with a key of one's own."""
    chosen = [name for name, digest in rows(made()["path"]).items() if digest["algorithm"] == "sha256"]
    serving.store.etags["training", f"set/{chosen[-1]}"] = "0F7230CAA4BE94CCBDC99C5500000000"
    answer = made()
    head = answer["manifest"]
    assert head["etags"] == {"compared": len(chosen), "other": 1, "files": 0, "bytes": 0}
    assert head["coverage"] == "sample"
    assert answer["said"][-1].endswith(f"no ETag is used as digest: 1 of {len(chosen)} are not the MD5 of their object")
    assert (kinds(answer["path"]).count("md5"), kinds(answer["path"]).count("none")) == (0, FILES - len(chosen))


def test_a_store_whose_etags_only_look_like_md5_is_seen(made: Made, serving: Serving) -> None:
    for name, content in LISTED.items():
        serving.store.etags["training", f"set/{name}"] = hashlib.blake2b(content, digest_size=16).hexdigest()
    head = made()["manifest"]
    assert (head["etags"]["other"], head["etags"]["files"]) == (head["digested"]["files"], 0)


def test_a_few_that_fit_prove_nothing(made: Made) -> None:
    answer = made(digest_bytes=100 * BYTES)
    head = answer["manifest"]
    assert 0 < head["etags"]["compared"] < etags.ENOUGH
    assert (head["etags"]["files"], set(kinds(answer["path"]))) == (0, {"sha256", "none"})
    assert answer["said"][-1].endswith(f"were compared with theirs, and {etags.ENOUGH} are needed")


def test_uploads_in_parts_and_empty_objects_show_nothing(made: Made, serving: Serving) -> None:
    in_parts = list(LISTED)[::3]
    for name in in_parts:
        serving.store.etags["training", f"set/{name}"] = f"{'AB' * 16}-2"
    for number in range(200):
        serving.store.put("training", f"set/empty/{number}", b"")
    answer = made(digest_bytes=LIMIT + 100 * BYTES)
    digests, head = rows(answer["path"]), answer["manifest"]
    of_parts = [digests[name] for name in in_parts]
    assert {digest.get("algorithm", "none") for digest in of_parts} == {"sha256", "none"}
    assert not any("md5" in digest for digest in of_parts)
    read = [name for name, digest in digests.items() if digest.get("algorithm") == "sha256" and name in LISTED]
    assert head["etags"]["compared"] == len(set(read) - set(in_parts))
    assert (head["etags"]["files"] > 0, head["coverage"]) == (True, "sample")


def test_what_was_compared_counts_in_later_runs(made: Made, serving: Serving) -> None:
    """No object is read again for it, and a changed one of the sample speaks for itself."""
    first = made()
    chosen = [name for name, digest in rows(first["path"]).items() if digest["algorithm"] == "sha256"]
    left = [name for name in LISTED if name not in chosen]
    for name in (chosen[0], left[0]):
        serving.store.put("training", f"set/{name}", b"x" * BYTES)
    again = made()
    assert (again["changed"], again["asked"] - first["asked"]) == (True, 1)
    assert again["manifest"]["etags"] == first["manifest"]["etags"]
    digests, md5 = rows(again["path"]), hashlib.md5(b"x" * BYTES).hexdigest()  # noqa: S324
    assert (digests[chosen[0]]["md5"], digests[left[0]]["value"]) == (md5, md5)


def test_objects_that_were_written_again_as_they_were_have_their_new_times(made: Made, serving: Serving) -> None:
    """A copy is compared with the time of a file that has no digest."""
    first = made()
    for key in serving.store.modified:
        serving.store.modified[key] += 3600
    again = made()
    assert (again["changed"], again["asked"]) == (True, first["asked"])
    assert again["manifest"]["id"] == first["manifest"]["id"]
    lines = reader.read_manifest(again["path"])
    next(lines)
    times = {(row["path"], row["mtime"]) for row in lines if row["type"] == "file"}
    assert times == {(key.removeprefix("set/"), int(time)) for (_, key), time in serving.store.modified.items()}
    assert not made()["changed"]


def test_what_an_etag_stood_for_is_read_for_its_sha256(made: Made, serving: Serving) -> None:
    first = made()
    whole = made(digest_bytes=FILES * BYTES)
    assert whole["asked"] - first["asked"] == FILES - first["manifest"]["digested"]["files"]
    assert set(kinds(whole["path"])) == {"sha256"}
    assert whole["manifest"]["etags"]["compared"] == 0


def test_digests_of_before_are_read_again_for_their_md5(made: Made) -> None:
    first = made(digest_bytes=FILES * BYTES)
    again = made()
    assert again["asked"] - first["asked"] == again["manifest"]["digested"]["files"]
    assert again["manifest"]["etags"]["files"] > 0


def test_an_interrupted_run_goes_on(
    made: Made, serving: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while ETags are written in: everything is read, and nothing is read again."""

    def killed(_: str) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as halfway:
        halfway.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.manifest._with_etag", killed)
        with pytest.raises(KeyboardInterrupt):
            made()
    assert not (tmp_path / "set.jsonl").exists()
    begun = len(serving.store.asked)
    answer = made()
    assert [one.key for one in serving.store.asked[begun:] if one.key] == []
    assert answer["manifest"]["etags"]["files"] == kinds(answer["path"]).count("md5") > 0
    assert [path.name for path in tmp_path.iterdir()] == ["set.jsonl"]


@pytest.mark.parametrize(
    ("etag", "md5"),
    [
        ("D41D8CD98F00B204E9800998ECF8427E", "d41d8cd98f00b204e9800998ecf8427e"),
        ("d41d8cd98f00b204e9800998ecf8427e-2", ""),
        ("d41d8cd98f00b204e9800998ecf8427", ""),
        ("1732700000000000000", ""),
        ("", ""),
    ],
)
def test_the_form_of_an_md5(etag: str, md5: str) -> None:
    assert etags.md5_of(etag) == md5

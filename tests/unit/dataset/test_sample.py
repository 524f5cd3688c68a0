"""The generated sample: its shape, the same bytes for the same seed, interruption and foreign folders."""

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from alluxio_fuse.dataset import jpeg, sample, tfrecord

SMALL = sample.Shape(images=24, shards=2, shard_bytes=600_000, seed=1)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "made"
    sample.make(folder, SMALL)
    return folder


def test_images_decode_and_have_the_mean_of_imagenet(made: Path) -> None:
    images = [made / SMALL.image_path(index) for index in range(SMALL.images)]
    for path in images:
        with Image.open(path) as image:
            image.load()
    assert sum(path.stat().st_size for path in images) == SMALL.images * sample.MEAN_IMAGE_BYTES


def test_shards_hold_framed_examples_of_the_images(made: Path) -> None:
    for index in range(SMALL.shards):
        shard = (made / SMALL.shard_path(index)).read_bytes()
        found = list(tfrecord.records(shard))
        assert SMALL.shard_bytes <= len(shard) < SMALL.shard_bytes + 10 * sample.MEAN_IMAGE_BYTES
        with Image.open(io.BytesIO(found[0][found[0].index(b"\xff\xd8") :])) as image:
            image.load()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(made: Path, tmp_path: Path) -> None:
    sample.make(tmp_path / "again", SMALL, processes=1)
    assert content(tmp_path / "again") == content(made)
    other = sample.Shape(images=24, shards=2, shard_bytes=600_000, seed=2)
    sample.make(tmp_path / "other", other)
    assert content(tmp_path / "other") != content(made)


def test_an_interrupted_run_is_continued(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sample"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sample, "_drain", killed)
        with pytest.raises(KeyboardInterrupt):
            sample.make(folder, SMALL)
    (folder / SMALL.image_path(0)).write_bytes(b"cut short")
    assert not sample.is_complete(folder, SMALL)
    sample.make(folder, SMALL)
    assert content(folder) == content(made)


def test_a_removed_file_is_made_again(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    sample.make(folder, SMALL)
    kept = folder / SMALL.image_path(1)
    before = kept.stat().st_mtime_ns
    (folder / SMALL.image_path(0)).unlink()
    assert not sample.is_complete(folder, SMALL)
    sample.make(folder, SMALL)
    assert content(folder) == content(made)
    assert kept.stat().st_mtime_ns == before


def test_another_sample_leaves_nothing_of_the_former_one(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    sample.make(folder, sample.Shape(images=30, shards=3, shard_bytes=200_000, seed=9))
    sample.make(folder, SMALL)
    assert content(folder) == content(made)


def test_a_foreign_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(sample.ForeignFolderError, match="holds no generated sample"):
        sample.make(tmp_path, SMALL)
    assert content(tmp_path) == {"thesis.tex": b"years of work"}


@settings(max_examples=25, deadline=None)
@given(size=st.integers(jpeg.SMALLEST, 400_000), seed=st.integers(0, 99))
def test_a_jpeg_has_exactly_the_wanted_size(size: int, seed: int) -> None:
    encoded = jpeg.encode(size, f"{seed}")
    assert len(encoded) == size
    with Image.open(io.BytesIO(encoded)) as image:
        image.load()


def test_comments_of_every_length_near_a_segment_decode() -> None:
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "JPEG")
    for size in range(65530, 65550):
        encoded = picture.getvalue()[:2] + jpeg.comments(size, b"x") + picture.getvalue()[2:]
        with Image.open(io.BytesIO(encoded)) as image:
            image.load()


def test_a_damaged_record_is_found() -> None:
    framed = bytearray(tfrecord.frame(b"abc") + tfrecord.frame(b"def"))
    assert list(tfrecord.records(bytes(framed))) == [b"abc", b"def"]
    framed[-5] ^= 1
    with pytest.raises(ValueError, match="the record at byte 19 is damaged"):
        list(tfrecord.records(bytes(framed)))


def test_masked_crc_is_that_of_tensorflow() -> None:
    # crc32c of "123456789" is 0xE3069283 (RFC 3720)
    assert tfrecord.masked_crc(b"123456789") == 0xC78AB0E5

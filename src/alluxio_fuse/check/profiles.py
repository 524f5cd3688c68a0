"""Further ways of going over a dataset's files, each a row of its own; those of older studies run by name only."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from alluxio_fuse.plan.intent.work import Profile

Kind = Literal["small", "large"]
KINDS: tuple[Kind, ...] = ("small", "large")


class Way(NamedTuple):
    """Whose files are read in which of the reader's ways, for which profile; a row for each of several numbers."""

    kind: Kind
    way: str
    profile: Profile | None = None
    readers: Sequence[int] = ()
    held: Sequence[int] = ()


WAYS: dict[str, Way] = {
    "records": Way("large", "records", "tfrecord"),
    "fio": Way("large", "fio", "fio"),
    "imagenet mix": Way("large", "mix", "fio"),
    "tokens": Way("large", "tokens", "tokens"),
    "mapped": Way("large", "mapped", "tokens"),
    "training": Way("small", "train"),
    "list": Way("small", "list"),
    "stat": Way("small", "stat"),
    "readers": Way("small", "read", "readers", readers=(1, 2, 4, 8, 16, 32)),
    "open files": Way("small", "hold", "open-files", held=(256, 1024, 4096, 16384, 65536)),
}


def heading(row: str, readers: int | None, held: int | None) -> str:
    """What a row is called: its kind, or the number that it is about."""
    way = WAYS.get(row)
    if way and way.readers:
        return "1 reader" if readers == 1 else f"{readers} readers"
    return f"{held} open" if way and way.held else row


def numbers(row: str, readers: int, files: int) -> Iterator[dict[str, int]]:
    """What each row of this kind is read with: so many readers, and so many of `files` files held open."""
    way = WAYS[row]
    for count in way.readers or (readers,):
        for held in way.held or (0,):
            if held <= files:
                yield {"readers": count, **({"held": held} if held else {})}


def of_profiles(profiles: Sequence[Profile]) -> Iterator[tuple[str, Way]]:
    """The rows that they add."""
    return ((row, way) for row, way in WAYS.items() if way.profile in profiles)


def impossible(row: str, header: Mapping[str, Any], files: int) -> str | None:
    """Why `files` files of this dataset cannot be read so; None if they can."""
    way = WAYS[row]
    if not files:
        return f"there is no {way.kind} file to read"
    if way.profile == "tfrecord" and not header.get("records"):
        return "no large file is a TFRecord file"
    if way.held and files < way.held[0]:
        return f"{files} files are fewer than {way.held[0]}"
    return None

"""How large the files of a dataset are, and what follows from that: pages, blocks, how many are small."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alluxio_fuse.plan.facts import Bucket


@dataclass(frozen=True, slots=True)
class Sizes:
    """A histogram of file sizes in bytes; without a listing it is one bucket, and the mean is all that is known."""

    buckets: tuple[Bucket, ...]
    listed: bool = True

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[int]]) -> "Sizes":
        """From [[bound, files, bytes], ...], as facts of sources and headers of manifests have it."""
        return cls(tuple(Bucket(*row) for row in rows))

    @classmethod
    def unlisted(cls, files: int, size: int) -> "Sizes":
        """Of a dataset whose number of files and bytes alone are known."""
        return cls((Bucket(size, files, size),), listed=False)

    @property
    def files(self) -> int:
        """Files, whatever their size."""
        return sum(each.files for each in self.buckets)

    @property
    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(each.bytes for each in self.buckets)

    def parts(self, unit: int) -> int:
        """Most pages or blocks of `unit` bytes that the files can take, since what is made for them must hold them.

        A file has at least one. Within a bucket, a file may have one more than its bytes fill, but none has more than
        the largest.
        """
        return sum(min(_most(each, unit), each.files + each.bytes // unit) for each in self.buckets)

    def bytes_per_part(self, unit: int) -> float:
        """Bytes that a page or block of `unit` bytes holds in the mean, where the last one of a file is half full."""
        usual = (max(each.files, each.files / 2 + each.bytes / unit) for each in self.buckets)
        parts = sum(min(_most(each, unit), some) for each, some in zip(self.buckets, usual, strict=True))
        return self.bytes / parts

    def share_below(self, limit: int) -> float:
        """Part of the bytes that is in files of less than `limit` bytes; a bucket counts by its mean."""
        below = sum(each.bytes for each in self.buckets if each.bytes < limit * each.files)
        return below / self.bytes if below else 0.0


def _most(bucket: Bucket, unit: int) -> int:
    """Parts, were all files of a bucket as large as it allows."""
    return bucket.files * max(1, -(-bucket.bound // unit))

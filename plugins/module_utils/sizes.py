"""Counts files by size, in few numbers however many files there are."""

from __future__ import annotations


class Sizes:
    """A histogram of file sizes: its buckets end at powers of two, so that there are at most about 60."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[int]] = {}

    def add(self, size: int) -> None:
        """Count one file of `size` bytes."""
        bucket = self._buckets.setdefault(1 << max(0, size - 1).bit_length(), [0, 0])
        bucket[0] += 1
        bucket[1] += size

    @property
    def files(self) -> int:
        """Files that were counted."""
        return sum(files for files, _ in self._buckets.values())

    @property
    def bytes(self) -> int:
        """Bytes of all files that were counted."""
        return sum(size for _, size in self._buckets.values())

    def rows(self) -> list[list[int]]:
        """[[bound, files, bytes], ...], smallest first: files of more than half of `bound` bytes and at most `bound`.

        Empty files, and those of one byte, are in the bucket that ends at 1. Buckets without files are left out.
        """
        return [[bound, *self._buckets[bound]] for bound in sorted(self._buckets)]

"""ETags as digests: only of a source whose ETags were seen to be the MD5 of their objects.

Of an object that was uploaded at once, most stores have the MD5 as ETag. Encryption with a key of one's own, other ways
to upload, and other stores make something else of the same form, and a listing does not tell. So the MD5 of objects
that are read anyway is compared with their ETags: of a sample that is random over the whole set.
"""

from __future__ import annotations

import re

#: Objects that must be compared, and all be equal: then less than 1 % of the objects of a source have another ETag,
#: with 95 % confidence (the rule of three, 3 / 300). A check calls such an object wrong; it lets no wrong one pass.
ENOUGH = 300
_MD5 = re.compile(r"[0-9a-fA-F]{32}")


def md5_of(etag: str) -> str:
    """The MD5 that an ETag may be, in lower case; empty where it cannot be one, as that of an upload in parts."""
    return etag.lower() if _MD5.fullmatch(etag) else ""


class Compared:
    """Objects whose MD5 was compared with their ETag, those of them that have another one, and what was not read."""

    def __init__(self) -> None:
        self.objects = self.other = 0
        self._files = self._bytes = 0

    def add(self, size: int, etag: str, md5: str) -> None:
        """One that was read. An empty one shows nothing."""
        if size and md5 and md5_of(etag):
            self.objects += 1
            self.other += md5 != md5_of(etag)

    def leave(self, size: int, etag: str) -> None:
        """One that was not."""
        if md5_of(etag):
            self._files, self._bytes = self._files + 1, self._bytes + size

    @property
    def proven(self) -> bool:
        """Whether ETags of this source are taken for digests."""
        return self.objects >= ENOUGH and not self.other

    def counts(self) -> dict[str, int]:
        """What a header says: how many were compared, had another ETag, and have theirs as digest, with their bytes."""
        files, size = (self._files, self._bytes) if self.proven else (0, 0)
        return {"compared": self.objects, "other": self.other, "files": files, "bytes": size}


def said(counts: dict[str, int]) -> str:
    """The same in words; empty where no ETag was compared."""
    compared, other = counts["compared"], counts["other"]
    if not compared:
        return ""
    if other:
        return f"no ETag is used as digest: {other:,} of {compared:,} are not the MD5 of their object"
    if compared < ENOUGH:
        return f"no ETag is used as digest: {compared:,} objects were compared with theirs, and {ENOUGH} are needed"
    return (
        f"{counts['files']:,} more, {counts['bytes'] / 1e9:,.1f} GB, have their ETag as digest:"
        f" it was the MD5 of all {compared:,} that were read"
    )

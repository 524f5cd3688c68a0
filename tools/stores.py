"""Generates docs/stores.md from the planner's table, so that the page and the refusals say the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from alluxio_fuse.plan.stores import STORES, UNREAD

_HEAD = """\
# Object stores and other sources

Generated from `src/alluxio_fuse/plan/stores.py` by `make docs`; do not edit. A dataset's `source` is `file://`,
`s3://`, [`oss://`](datasets.md#alibaba-cloud-oss), [`hdfs://`](datasets.md#hdfs), [`nfs://`](datasets.md#nfs) or
[`pvc://`](datasets.md#a-claim-of-kubernetes). Any other scheme is refused with its line of this page. SeaweedFS was
run; the other lines were read in the stores' documents, which they link to, and not run.

## Stores that speak S3

Requests are signed by version 4, for the region that `region` names. `path_style: true` puts the bucket into the path,
and without it the bucket is in the host name. Controller and services read alike.

"""
_UNREAD = """
## What is not read yet

"""


def page() -> str:
    """The text of docs/stores.md."""
    stores = [
        (
            one.name,
            ", ".join(f"`{scheme}://`" for scheme in one.schemes),
            f"`{one.settings}`",
            one.bucket_in,
            one.keys,
            one.note,
            ", ".join(f"[{number}]({link})" for number, link in enumerate(one.documents, 1)),
        )
        for one in STORES
    ]
    unread = [(one.name, ", ".join(f"`{scheme}://`" for scheme in one.schemes), one.remedy) for one in UNREAD]
    columns = ("store", "in place of", "`s3`", "it finds the bucket in", "keys", "note", "documents")
    return _HEAD + _table(columns, stores) + _UNREAD + _table(("source", "schemes", "what works"), unread)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    ruled = (columns, ["---"] * len(columns), *rows)
    return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in ruled)


def _cell(text: str) -> str:
    """Markdown takes `<region>` for a tag where it is no code."""
    return text if "`" in text else text.replace("<", "&lt;")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

"""How Fluid mounts a source: the one place where another scheme plugs in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from alluxio_fuse.plan.parts import PlannedDataset
from alluxio_fuse.plan.schemes import CLAIM
from alluxio_fuse.plan.sources import UNSIGNED

#: By scheme, the options that a runtime reads the two keys from, each with the key of the Secret that holds it.
KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "s3": {"s3a.accessKeyId": "access_key", "s3a.secretKey": "secret_key"},
    "oss": {"fs.oss.accessKeyId": "access_key", "fs.oss.accessKeySecret": "secret_key"},
    "hdfs": {},
}
_ENDPOINT: Final = "fs.oss.endpoint"


@dataclass(frozen=True)
class Source:
    """A mount: where from, its plain options, and options whose value is a key of a Secret."""

    mount_point: str
    options: Mapping[str, str]
    keys: Mapping[str, str]


def source_of(dataset: PlannedDataset, runtime: str) -> Source:
    """How a dataset's source is mounted in a runtime, `alluxio` or `jindo`."""
    if dataset.source.startswith(CLAIM):
        return Source(dataset.source, {}, {})
    scheme = dataset.source.partition("://")[0]
    if runtime == "jindo":
        return Source(dataset.source, _of_jindo(dataset.options), KEYS[scheme])
    anonymous = UNSIGNED.items() <= dataset.options.items()
    return Source(dataset.source, dataset.options, {} if anonymous else KEYS[scheme])


def _of_jindo(options: Mapping[str, str]) -> dict[str, str]:
    """What Jindo's controller reads of OSS: the endpoint, which it wants as a host alone."""
    return {_ENDPOINT: urlsplit(options[_ENDPOINT]).netloc}

"""How Alluxio reaches the sources of datasets."""

from typing import Final

from alluxio_fuse.plan.intent.datasets import Dataset
from alluxio_fuse.plan.schemes import S3

#: Alluxio's client looks for keys before it asks a store, and fails without any: it finds these, which sign nothing.
UNSIGNED: Final = {
    "alluxio.underfs.s3.signer.algorithm": "NoOpSignerType",
    "s3a.accessKeyId": "unsigned",
    "s3a.secretKey": "unsigned",
}


def source_properties(dataset: Dataset, *, writable: bool) -> dict[str, str]:
    """Properties of a source's mount, in Alluxio or of a FUSE process that reads it; keys are joined in elsewhere."""
    if dataset.oss:
        return {
            "fs.oss.endpoint": dataset.oss.endpoint,
            "fs.oss.region": dataset.oss.region,
            "alluxio.underfs.oss.default.mode": "0555",
        }
    if not dataset.source.startswith(S3):
        return {}
    options = {
        "alluxio.underfs.s3.inherit.acl": "false",
        "alluxio.underfs.s3.default.mode": "0755" if writable else "0555",
    }
    if dataset.s3 and dataset.s3.endpoint:
        options["alluxio.underfs.s3.endpoint"] = dataset.s3.endpoint
    if dataset.s3 and dataset.s3.region:
        options["alluxio.underfs.s3.endpoint.region"] = dataset.s3.region
    if dataset.s3 and dataset.s3.path_style:
        options["alluxio.underfs.s3.disable.dns.buckets"] = "true"
    if dataset.s3 and dataset.s3.anonymous:
        options |= UNSIGNED
    return options

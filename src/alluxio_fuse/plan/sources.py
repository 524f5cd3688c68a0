"""How Alluxio reaches the sources of datasets."""

from alluxio_fuse.plan.intent import Dataset


def source_properties(dataset: Dataset, *, writable: bool) -> dict[str, str]:
    """Properties of a source's mount, in Alluxio or of a FUSE process that reads it; keys are joined in elsewhere."""
    if not dataset.source.startswith("s3://"):
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
    return options

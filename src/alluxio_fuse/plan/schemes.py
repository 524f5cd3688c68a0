"""How sources begin: the schemes that are read, and what some of them have in common."""

from typing import Final

FOLDER: Final = "file://"
S3: Final = "s3://"
OSS: Final = "oss://"
HDFS: Final = "hdfs://"
EXPORT: Final = "nfs://"
CLAIM: Final = "pvc://"

#: By scheme, what a source is written like.
FORMS: Final = {
    FOLDER: "file:///folder",
    S3: "s3://bucket/prefix",
    OSS: "oss://bucket/prefix",
    HDFS: "hdfs://namenode:port/folder",
    EXPORT: "nfs://server/export",
    CLAIM: "pvc://claim/folder",
}
OBJECT_STORES: Final = (S3, OSS)
ASKED: Final = (*OBJECT_STORES, HDFS)  # which the controller itself asks and lists
READ_ONLY: Final = (OSS, HDFS, EXPORT)
BY_CLUSTER: Final = (OSS, HDFS)  # which Alluxio's workers alone read


def folder_of(source: str) -> str:
    """The folder of each node that a source names; "" where it names none."""
    return source.removeprefix(FOLDER).rstrip("/") if source.startswith(FOLDER) else ""


def listed() -> str:
    """All schemes, in a sentence."""
    *others, end = FORMS
    return f"{', '.join(others)} and {end}"


def forms() -> str:
    """What every source is written like, in a sentence."""
    *others, end = FORMS.values()
    return f"{', '.join(others)} or {end}"

"""Every scheme of a source that has a name and is not read here: what to write in place of it.

Most object stores answer S3's requests, too. What each wants was read in its documents, which `documents` names, in
November 2026; of all of them only SeaweedFS was run here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from alluxio_fuse.plan.schemes import FORMS, forms, listed

PAGE: Final = "docs/stores.md"
ANY_REGION: Final = "us-east-1"


@dataclass(frozen=True, slots=True)
class Store:
    """An object store that answers S3's requests, signed by version 4, and what a dataset's `s3` says of it.

    bucket_in: where it finds the bucket's name. schemes: of its own interface, which is not read.
    """

    name: str
    endpoint: str
    region: str
    bucket_in: Literal["host name", "path", "host name or path"]
    keys: str
    documents: tuple[str, ...]
    schemes: tuple[str, ...] = ()
    note: str = ""

    @property
    def settings(self) -> str:
        """What to write as `s3`."""
        endpoint = f'endpoint: "{self.endpoint}", ' if self.endpoint else ""
        return f"{{{endpoint}region: {self.region}{', path_style: true' if self.bucket_in == 'path' else ''}}}"

    def instead(self, place: str) -> str:
        """What to write in place of `<scheme>://<place>`."""
        note = f". {self.note}" if self.note else ""
        return f"write s3://{place} with s3: {self.settings}, and {self.keys} into alluxio_credentials{note} ({PAGE})"


@dataclass(frozen=True, slots=True)
class Unread:
    """What Alluxio could read, this bundle does not, and has no S3 interface."""

    name: str
    schemes: tuple[str, ...]
    remedy: str


STORES: Final = (
    Store(
        "AWS S3",
        "",
        "<region>",
        "host name",
        "an access key",
        ("https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html",),
        ("s3a", "s3n"),
    ),
    Store(
        "Google Cloud Storage",
        "https://storage.googleapis.com",
        "auto",
        "host name or path",
        "an HMAC key (no JSON file of a service account)",
        (
            "https://docs.cloud.google.com/storage/docs/interoperability",
            "https://docs.cloud.google.com/storage/docs/request-endpoints",
        ),
        ("gs", "gcs"),
    ),
    Store(
        "Alibaba Cloud OSS",
        "https://s3.oss-<region>.aliyuncs.com",
        "<region>",
        "host name",
        "an AccessKey",
        ("https://help.aliyun.com/en/oss/developer-reference/use-aws-sdks-to-access-oss",),
        (),
        "Inside its network the endpoint is https://s3.oss-<region>-internal.aliyuncs.com. oss:// reads it, too, by its"
        " own interface",
    ),
    Store(
        "Tencent Cloud COS",
        "https://cos.<region>.myqcloud.com",
        "<region>",
        "host name",
        "SecretId and SecretKey",
        (
            "https://www.tencentcloud.com/document/product/436/57456",
            "https://www.tencentcloud.com/document/product/436/75050",
        ),
        ("cos", "cosn"),
        "The bucket's name ends with -<APPID>",
    ),
    Store(
        "Huawei Cloud OBS",
        "https://obs.<region>.myhuaweicloud.com",
        "<region>",
        "host name",
        "AK and SK",
        (
            "https://support.huaweicloud.com/obs_faq/obs_faq_0274.html",
            "https://support.huaweicloud.com/intl/en-us/api-obs/obs_errorcode_0014.html",
        ),
        ("obs",),
        "It takes https:// only: over http:// the content would be signed, too, which it refuses",
    ),
    Store(
        "Cloudflare R2",
        "https://<account>.r2.cloudflarestorage.com",
        "auto",
        "path",
        "an API token's access key",
        ("https://developers.cloudflare.com/r2/api/s3/api/",),
        ("r2",),
    ),
    Store(
        "MinIO",
        "https://minio.example.com:9000",
        ANY_REGION,
        "path",
        "an access key",
        ("https://github.com/minio/minio/discussions/15997",),
        ("minio",),
        "The region is another one where its operator has set one",
    ),
    Store(
        "Ceph",
        "https://rgw.example.com",
        ANY_REGION,
        "path",
        "the key of a user of its Object Gateway",
        ("https://docs.ceph.com/en/latest/radosgw/s3/commons/",),
        ("ceph",),
        "The bucket may be in the host name where rgw_dns_name is set",
    ),
    Store(
        "Apache Ozone",
        "http://s3g.example.com:9878",
        ANY_REGION,
        "path",
        "what `ozone s3 getsecret` prints",
        ("https://hadoop.apache.org/ozone/docs/1.1.0/interface/s3.html",),
        ("o3fs", "ofs"),
        "Its S3 Gateway serves the buckets of volume /s3v",
    ),
    Store(
        "OpenStack Swift",
        "https://swift.example.com",
        ANY_REGION,
        "path",
        "EC2 credentials",
        ("https://docs.openstack.org/swift/latest/middleware.html",),
        ("swift",),
        "Its operator must run the s3api middleware, whose `location` is the region",
    ),
    Store(
        "SeaweedFS",
        "http://seaweedfs.example.com:8333",
        ANY_REGION,
        "path",
        "an access key",
        ("https://github.com/seaweedfs/seaweedfs/wiki/Amazon-S3-API",),
    ),
)

_MOUNTED = "on every node, and write file:///<mount point>"
UNREAD: Final = (
    Unread(
        "Azure Blob Storage and Data Lake",
        ("abfs", "abfss", "adl", "wasb", "wasbs"),
        f"it has no S3 interface: mount the container {_MOUNTED}; or copy it into a store that speaks S3",
    ),
    Unread("CephFS", ("cephfs",), f"mount it {_MOUNTED}, with a marker"),
    Unread(
        "A web server",
        ("http", "https", "web"),
        "copy its files to a folder or a bucket; of a store that speaks S3, write s3://<bucket>/<prefix>, and this"
        " address as s3.endpoint",
    ),
)


def schemes() -> Iterable[str]:
    """All that are refused with what to write in place of them."""
    return [scheme for one in (*STORES, *UNREAD) for scheme in one.schemes]


def instead(scheme: str, place: str) -> tuple[str, str]:
    """(what is wrong with the source `<scheme>://<place>`, what to write in place of it)."""
    if not scheme:
        return "it has no scheme", f"write {forms()}"
    store = next((one for one in STORES if scheme in one.schemes), None)
    if store:
        return f"{scheme}:// is not read; {store.name} is read by its S3 interface", store.instead(place)
    unread = next((one for one in UNREAD if scheme in one.schemes), None)
    if unread:
        return f"{scheme}:// is not read yet", f"{unread.remedy} ({PAGE})"
    close = get_close_matches(scheme, [*(read.removesuffix("://") for read in FORMS), *schemes()], n=1, cutoff=0.6)
    meant = f"did you mean {close[0]}://? " if close else ""
    return (
        f"{scheme}:// is not known",
        f"{meant}{listed()} are read; {PAGE} says what to write for others",
    )

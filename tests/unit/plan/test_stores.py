"""Sources that are not read are refused with what to write in place of them, and that is planned."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from fleets import local

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.stores import PAGE, STORES, UNREAD, schemes

#: Of Alluxio 2.9.6, by its under stores, and those that users of other tools write.
OF_ALLUXIO = ("gs", "abfs", "abfss", "wasb", "wasbs", "cos", "obs", "swift", "ceph", "o3fs")


def dataset(source: str, **said: Any) -> dict[str, Any]:
    return local(alluxio_datasets=[{"name": "set", "source": source, "files": 1000, "bytes": "1Gi", **said}])


@pytest.mark.parametrize("scheme", sorted({*OF_ALLUXIO, "http", "https", "web", *schemes()}))
def test_every_scheme_is_refused_by_its_line(finding: Any, scheme: str) -> None:
    found = finding(dataset(f"{scheme}://bucket/x"))
    assert (found.path, found.value) == ("alluxio_datasets[0].source", f"'{scheme}://bucket/x'")
    assert found.reason.startswith(f"{scheme}:// is not read")
    assert found.reason.endswith(("by its S3 interface", "is not read yet"))
    assert PAGE in found.remedy
    assert re.search(r"s3://bucket/x with s3: \{|file:///<mount point>|to a folder or a bucket", found.remedy)


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("gs://bucket/x", 's3: {endpoint: "https://storage.googleapis.com", region: auto}, and an HMAC key'),
        ("cos://set-1250000000/x", 'https://cos.<region>.myqcloud.com", region: <region>}, and SecretId and SecretKey'),
        ("ceph://bucket/x", "region: us-east-1, path_style: true}"),
        ("pvc://Claim", "write pvc://<name of a PersistentVolumeClaim>"),
        ("pvc://claim/../x", "write pvc://<name of a PersistentVolumeClaim>"),
        ("gss://bucket/x", "did you mean gs://?"),
        ("s3x://bucket/x", "did you mean s3://?"),
        ("ftp://server/x", "file://, s3://, oss://, hdfs://, nfs:// and pvc:// are read"),
        ("/data/set", "write file:///folder"),
        ("S3://bucket/x", "begin it with s3://"),
        ("file:/data/set", "begin it with file://"),
    ],
)
def test_the_remedy_says_what_to_write(finding: Any, source: str, remedy: str) -> None:
    assert remedy in finding(dataset(source)).remedy


def test_what_stands_before_an_at_is_not_repeated(finding: Any) -> None:
    for source in ("gs://key:CANARY@bucket/x", "abfs://CANARY@account.dfs.core.windows.net/x", "ftp://a:CANARY@host/x"):
        assert "CANARY" not in str(finding(dataset(source)))


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
def test_settings_of_every_store_are_planned(store: Any) -> None:
    said = yaml.safe_load(store.settings.replace("<region>", "eu-1").replace("<account>", "a1"))
    (made,) = plan(dataset("s3://bucket/x", s3=said)).datasets
    options = made.options
    assert options.get("alluxio.underfs.s3.endpoint") == said.get("endpoint")
    assert options["alluxio.underfs.s3.endpoint.region"] == said["region"]
    assert ("alluxio.underfs.s3.disable.dns.buckets" in options) is (store.bucket_in == "path")
    assert store.documents


def test_a_scheme_has_one_line() -> None:
    listed = list(schemes())
    assert len(listed) == len(set(listed))
    assert not {"file", "s3", "oss", "hdfs", "nfs", "pvc"} & set(listed)
    assert not {one.name for one in STORES} & {one.name for one in UNREAD}

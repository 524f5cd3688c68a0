"""Keys that services find by themselves, as AWS's clients look for them: what is said of it, and what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from alluxio_fuse.plan.intent.datasets import Dataset
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.intent.nodes import Aws
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import Finding

_ELSEWHERE: Final = {
    "kubernetes": "write alluxio_kubernetes: {values: {webIdentity: …}}, or awsProfile, or annotations of the"
    " serviceAccount (charts/alluxio-fuse/README.md, Credential chain)",
    "host": "remove it: the cluster reads the store, and finds keys where it runs",
    "fluid": "remove it, and write alluxio_credentials",
}


def by_chain(dataset: Dataset) -> bool:
    """Whether a dataset's keys are looked for."""
    return dataset.s3 is not None and dataset.s3.credential_chain


def check_credential_chain(intent: FleetIntent, problems: Problems) -> None:
    """Refuse the chain where services cannot follow it, and what is said of it where nothing does."""
    for finding in _findings(intent):
        problems.add(finding)


def _findings(intent: FleetIntent) -> Iterator[Finding]:
    platform = intent.alluxio_platform
    if intent.capabilities.by_fluid:
        for index, dataset in enumerate(intent.alluxio_datasets):
            if by_chain(dataset):
                reason = "Fluid was given no role or profile here yet: its pods would find no key"
                remedy = f"remove it, and write access_key and secret_key of {dataset.name} into a vault"
                yield Finding(f"alluxio_datasets[{index}].s3.credential_chain", "true", reason, remedy)
    if not intent.alluxio_aws.model_fields_set:
        return
    if platform in _ELSEWHERE:
        yield Finding("alluxio_aws", "given", f"the platform is {platform}", _ELSEWHERE[platform])
    elif not any(by_chain(dataset) for dataset in intent.alluxio_datasets):
        remedy = "write credential_chain: true into s3 of those that should be, or remove it"
        yield Finding("alluxio_aws", "given", "no dataset is read by the credential chain", remedy)


def environment(aws: Aws) -> dict[str, str]:
    """Variables by which Alluxio's client (AWS SDK for Java 1.11) finds what is said. No key is among them."""
    if aws.profile_file:
        return {"AWS_CREDENTIAL_PROFILES_FILE": aws.profile_file}
    if aws.role_arn and aws.token_file and aws.region:
        return {
            "AWS_ROLE_ARN": aws.role_arn,
            "AWS_WEB_IDENTITY_TOKEN_FILE": aws.token_file,
            "AWS_REGION": aws.region,
            "AWS_STS_REGIONAL_ENDPOINTS": "regional",
        }
    return {}


def files(aws: Aws) -> list[str]:
    """Files on the nodes that services read."""
    return [path for path in (aws.profile_file, aws.token_file) if path]


def folders(aws: Aws) -> list[str]:
    """Folders that services must see: a file that is replaced is another one, which a mounted file would hide."""
    return [str(PurePosixPath(path).parent) for path in files(aws)]

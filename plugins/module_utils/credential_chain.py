"""Keys as AWS's clients look for them by themselves, on the controller: where they are found, never what they are."""

from __future__ import annotations

import os
from typing import Any

#: By botocore's name of a provider, where it takes keys from.
PLACES = {
    "env": "the environment (AWS_ACCESS_KEY_ID)",
    "assume-role": "a role that profile {profile} names",
    "assume-role-with-web-identity": "web identity (AWS_ROLE_ARN, or profile {profile})",
    "shared-credentials-file": "profile {profile} in {credentials}",
    "config-file": "profile {profile} in {config}",
    "custom-process": "the program that profile {profile} names",
    "sso": "single sign-on of profile {profile}",
    "container-role": "the role of the container",
    "iam-role": "the role of the instance",
}
_TRIED = (
    "no key in the environment (AWS_ACCESS_KEY_ID), by web identity (AWS_WEB_IDENTITY_TOKEN_FILE), in profile {profile}"
    " of {credentials} and {config}, of a container (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, _FULL_URI), or of an"
    " instance ({metadata})"
)
_METADATA = "http://169.254.169.254/"


def found() -> str:
    """Where keys come from; LookupError, with what was tried, where there are none."""
    import botocore.session  # noqa: PLC0415 (only an S3 source needs it, a node's Python lacks it)
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    session = botocore.session.get_session()
    try:
        keys = session.get_credentials()
    except BotoCoreError as error:
        raise LookupError(str(error)) from None
    if keys is None:
        raise LookupError(_TRIED.format(**_places(session)))
    method: str = keys.method
    return PLACES.get(method, method).format(**_places(session))


def _places(session: Any) -> dict[str, str]:
    """Where this session looks."""
    disabled = os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
    metadata = session.get_config_variable("ec2_metadata_service_endpoint") or _METADATA
    return {
        "profile": session.profile or "default",
        "credentials": session.get_config_variable("credentials_file"),
        "config": session.get_config_variable("config_file"),
        "metadata": "not asked: AWS_EC2_METADATA_DISABLED" if disabled else metadata,
    }

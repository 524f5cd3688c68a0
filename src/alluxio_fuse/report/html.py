"""The page."""

from alluxio_fuse.check.verdict import Check


def render(check: Check) -> str:
    """report.html."""
    return check.verdict

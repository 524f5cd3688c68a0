"""The planner: every value derived, explained, or refused."""

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.planner import plan
from alluxio_fuse.plan.refusals import Finding, Refused
from alluxio_fuse.plan.values import Value

__all__ = ["Finding", "Plan", "Refused", "Value", "plan"]

"""The planner: every value derived, explained, or refused."""

from alluxio_fuse.plan.planner import Plan, plan
from alluxio_fuse.plan.refusals import Finding, Refused
from alluxio_fuse.plan.values import Value

__all__ = ["Finding", "Plan", "Refused", "Value", "plan"]

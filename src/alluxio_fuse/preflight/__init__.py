"""What preflight asks of a node, and what it refuses there, beyond what the planner itself refuses."""

from alluxio_fuse.preflight.asked import questions
from alluxio_fuse.preflight.delivery import delivery_line
from alluxio_fuse.preflight.fleet import findings, findings_text, plaintext, silent, undelivered
from alluxio_fuse.preflight.network import peers

__all__ = ["delivery_line", "findings", "findings_text", "peers", "plaintext", "questions", "silent", "undelivered"]

"""What preflight asks of a node, and what it refuses there, beyond what the planner itself refuses."""

from alluxio_fuse.preflight.asked import questions
from alluxio_fuse.preflight.fleet import findings, findings_text, plaintext, silent
from alluxio_fuse.preflight.network import peers

__all__ = ["findings", "findings_text", "peers", "plaintext", "questions", "silent"]

"""What is warned of before nodes are prepared."""

from collections.abc import Mapping

from alluxio_fuse.plan.distributions import LISTED, release
from alluxio_fuse.plan.facts import Facts
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.process import nofile


def check_distributions(facts: Mapping[str, Facts], problems: Problems) -> None:
    """A distribution whose packages are listed only is no refusal: preflight refuses the unknown ones."""
    listed: dict[str, list[str]] = {}
    for host, known in facts.items():
        distribution = known.distribution
        if release(distribution.id, distribution.version) in LISTED:
            listed.setdefault(f"{distribution.id} {distribution.version}", []).append(host)
    for running, hosts in listed.items():
        problems.warn("distribution", f"the roles were never run on {running}: {', '.join(hosts)}; see docs/support.md")


def warn_of_swap(facts: Mapping[str, Facts], plans: Mapping[str, NodePlan], problems: Problems) -> None:
    """Where caches or copies are in memory: the kernel may write pages of a tmpfs to swap."""
    swapping = [host for host, known in facts.items() if known.swap and plans[host].layout.memory]
    if swapping:
        problems.warn(
            "swap",
            f"{', '.join(swapping)}: what caches and copies hold in memory may go to swap, and is read from a disk"
            " then, but for a tmpfs that this version mounted first, on Linux 6.4 or later; turn swap off"
            " (swapoff --all, and its lines of /etc/fstab), or leave memory out of alluxio_cache_tiers",
        )


def warn_of_restarts(intent: FleetIntent, facts: Mapping[str, Facts], problems: Problems) -> None:
    """Where role open_files restarts containerd: its containers inherit its own limit of open files."""
    if not intent.capabilities.in_pods or not intent.alluxio_kubernetes.node_access or intent.capabilities.by_fluid:
        return
    wanted = {host: nofile(known.nofile.hard).amount for host, known in facts.items()}
    short = [host for host, known in facts.items() if (known.containerd_files or wanted[host]) < wanted[host]]
    if short:
        now = min(facts[host].containerd_files or 0 for host in short)
        problems.warn(
            "containerd",
            f"preparing the nodes restarts it on {', '.join(short)}, one node after the other: containers may open"
            f" {now} files there, and {wanted[short[0]]} are wanted. Running containers go on; a node whose containerd"
            " does not come back stops the run",
        )

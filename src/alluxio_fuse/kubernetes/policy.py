"""Whether a cluster enforces NetworkPolicy: many take such objects, and not every network plugin acts on them.

A pod listens on two ports, of which a policy leaves one open. Another pod tries both: that the open one answers tells
that the attempt means anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alluxio_fuse.kubernetes.objects import Object, labels, metadata, pod_on

OPEN, SHUT = 28001, 28002
SERVER = "policy-probe"
ENFORCED, IGNORED = "enforced", "ignored"

#: The port that the policy leaves open begins to listen last: where it answers, the other one listens, too.
_LISTEN = """
import socket, sys, threading
dual = socket.has_dualstack_ipv6()
family = socket.AF_INET6 if dual else socket.AF_INET
def serve(listening):
    while True:
        listening.accept()[0].close()
for port in map(int, sys.argv[1:]):
    listening = socket.create_server(("", port), family=family, dualstack_ipv6=dual)
    threading.Thread(target=serve, args=[listening]).start()
"""

#: A policy takes a moment to reach the pod. Twice in a row, so that one lost packet is no verdict.
_TRY = f"""
import socket, sys, time
address, open_port, shut_port, tries = sys.argv[1], *map(int, sys.argv[2:])
def answers(port):
    try:
        socket.create_connection((address, port), 3).close()
    except OSError:
        return False
    return True
held = 0
for _ in range(tries):
    reached = answers(open_port)
    held = held + 1 if reached and not answers(shut_port) else 0
    if held == 2:
        break
    time.sleep(1)
print("{ENFORCED}" if held == 2 else "{IGNORED}" if answers(open_port) and answers(shut_port) else "unreached")
"""


def probe_policy(deployment: str, into: str) -> Object:
    """A policy for the probe's server alone: one of its ports is for everybody, and so the other for nobody."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(f"{deployment}-{SERVER}", into, deployment, SERVER),
        "spec": {
            "podSelector": {"matchLabels": labels(deployment, SERVER)},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": OPEN}]}],
        },
    }


def probe_server(host: str, *, deployment: str, into: str, image: str, pull_secrets: Sequence[str] = ()) -> Object:
    """The pod that listens, on one node."""
    about = metadata(f"{deployment}-{SERVER}", into, deployment, SERVER)
    return _pod(about, host, image, pull_secrets, ["python3", *listen_arguments()])


def probe_client(
    host: str, *, deployment: str, into: str, image: str, address: str, tries: int, pull_secrets: Sequence[str] = ()
) -> Object:
    """The pod that tries the ports of `address`, a second apart, ends, and has its verdict in the log."""
    about = metadata(f"{deployment}-policy-client", into, deployment, "policy-client")
    return _pod(about, host, image, pull_secrets, ["python3", *try_arguments(address, tries=tries)])


def listen_arguments(open_port: int = OPEN, shut_port: int = SHUT) -> list[str]:
    """Arguments of Python that listen on both ports."""
    return ["-c", _LISTEN, str(shut_port), str(open_port)]


def try_arguments(address: str, open_port: int = OPEN, shut_port: int = SHUT, *, tries: int) -> list[str]:
    """Arguments of Python that try the ports of an address and print the verdict."""
    return ["-c", _TRY, address, str(open_port), str(shut_port), str(tries)]


def policy_verdict(log: str, failure: str = "") -> str:
    """What is said of a probe: log of its client, or why there is none."""
    said = log.rsplit(maxsplit=1)[-1] if log.split() else ""
    if said == ENFORCED:
        return "NetworkPolicy is enforced in this cluster: pods of others do not reach Alluxio's ports."
    exposed = (
        "Where it is not, the deployment's password alone keeps any pod from being told the S3 keys of every mount, and"
        " three masters copy their journal to each other without one. Have the network plugin enforce it, and use keys"
        " that can only read one prefix (docs/upkeep.md: who can get at them)."
    )
    if said == IGNORED:
        return f"WARNING: NetworkPolicy is not enforced in this cluster, the chart's included. {exposed}"
    why = failure or "the probe's pod did not answer on the port that its policy leaves open"
    return f"WARNING: whether NetworkPolicy is enforced in this cluster could not be tried: {why}. {exposed}"


def _pod(about: dict[str, Any], host: str, image: str, pull_secrets: Sequence[str], command: list[str]) -> Object:
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": 65534,
        "runAsGroup": 65534,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "probe", "image": image, "command": command, "securityContext": security}
    return pod_on(host, about, container, pull_secrets)

"""The probe of NetworkPolicy: what its client finds, on real sockets, and what is said of it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from alluxio_fuse.kubernetes import policy

HERE = "127.0.0.1"
PROBE: dict[str, Any] = {"deployment": "d", "into": "ns", "image": "i:1"}


def tried(open_port: int, shut_port: int, rounds: int = 3) -> str:
    command = [sys.executable, *policy.try_arguments(HERE, open_port, shut_port, tries=rounds)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def free() -> int:
    """A port on which nothing listens."""
    with socket.create_server((HERE, 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server((HERE, 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_the_policy_shuts_is_what_enforced_means(listening: int) -> None:
    assert policy.policy_verdict(tried(listening, free())).startswith("NetworkPolicy is enforced")


def test_a_port_that_answers_all_the_same_is_said(listening: int) -> None:
    said = policy.policy_verdict(tried(listening, listening))
    assert said.startswith("WARNING: NetworkPolicy is not enforced")
    assert "the S3 keys of every mount" in said


def test_where_nothing_answers_nothing_is_known() -> None:
    """A shut port proves nothing while the open one does not answer."""
    said = policy.policy_verdict(tried(free(), free()))
    assert "could not be tried: the probe's pod did not answer on the port that its policy leaves open" in said


def test_a_policy_that_comes_late_is_waited_for(listening: int) -> None:
    late = socket.create_server((HERE, 0))
    port = int(late.getsockname()[1])
    timer = threading.Timer(1.5, late.close)
    timer.start()
    try:
        assert policy.policy_verdict(tried(listening, port, rounds=15)).startswith("NetworkPolicy is enforced")
    finally:
        timer.join()


@pytest.mark.parametrize(("log", "failure"), [("", "pods is forbidden"), ("Traceback: KeyError", "")])
def test_a_failure_is_no_verdict(log: str, failure: str) -> None:
    said = policy.policy_verdict(log, failure)
    assert said.startswith("WARNING: whether NetworkPolicy is enforced in this cluster could not be tried")
    assert failure in said


def test_the_policy_is_for_the_probe_alone_and_leaves_one_port_open() -> None:
    made, server = policy.probe_policy("d", "ns"), policy.probe_server("n1", **PROBE)
    client = policy.probe_client("n2", **PROBE, address="10.0.0.1", tries=15)
    chosen = made["spec"]["podSelector"]["matchLabels"].items()
    assert chosen <= server["metadata"]["labels"].items()
    assert not chosen <= client["metadata"]["labels"].items()
    assert made["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": policy.OPEN}]}]
    assert server["spec"]["containers"][0]["command"] == ["python3", *policy.listen_arguments()]
    assert (server["spec"]["nodeName"], client["spec"]["nodeName"]) == ("n1", "n2")
    assert client["spec"]["containers"][0]["command"] == ["python3", *policy.try_arguments("10.0.0.1", tries=15)]


def test_the_server_listens_on_both_ports() -> None:
    opened, shut = free(), free()
    server = subprocess.Popen([sys.executable, *policy.listen_arguments(opened, shut)])
    try:
        deadline = time.monotonic() + 60
        while "unreached" in (found := tried(opened, shut, rounds=1)):
            assert time.monotonic() < deadline
            assert server.poll() is None
        assert policy.policy_verdict(found).startswith("WARNING: NetworkPolicy is not enforced")
    finally:
        server.kill()
        server.wait()


def test_pods_have_no_rights() -> None:
    for pod in (policy.probe_server("n", **PROBE), policy.probe_client("n", **PROBE, address="10.0.0.1", tries=15)):
        (container,) = pod["spec"]["containers"]
        assert container["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["spec"]["automountServiceAccountToken"] is False

"""How a kubelet finds the plugin, and what it is told of it."""

from __future__ import annotations

import signal
from typing import Any

import grpc
import pytest
from csi_node import DRIVER, Client, Node


def ask(node: Node, registration: Any, method: str, request: Any) -> Any:
    """The answer of the plugin to a kubelet that has found its socket."""
    described = registration.DESCRIPTOR.services_by_name["Registration"].methods_by_name[method]
    answer = getattr(registration, described.output_type.name)
    with grpc.insecure_channel(f"unix://{node.kubelet}/plugins_registry/{DRIVER}-reg.sock") as channel:
        call = channel.unary_unary(
            f"/pluginregistration.Registration/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return call(request, timeout=10)


def test_the_kubelet_learns_name_and_socket(node: Node, client: Client, registration: Any) -> None:
    info = ask(node, registration, "GetInfo", registration.InfoRequest())
    assert (info.type, info.name, list(info.supported_versions)) == ("CSIPlugin", DRIVER, ["1.0.0"])
    assert info.endpoint == f"{node.container}/kubelet/plugins/{DRIVER}/csi.sock"


@pytest.mark.parametrize(("accepted", "code"), [(True, 0), (False, 1)])
def test_a_plugin_that_is_refused_ends(
    node: Node, client: Client, registration: Any, accepted: bool, code: int
) -> None:
    status = registration.RegistrationStatus(plugin_registered=accepted, error="" if accepted else "taken")
    ask(node, registration, "NotifyRegistrationStatus", status)
    assert node.plugin is not None
    if accepted:
        assert node.stop() == code
    else:
        assert node.plugin.wait(20) == code


def test_a_plugin_that_ends_is_not_found_any_more(node: Node, client: Client) -> None:
    assert node.stop() == 0
    assert list((node.kubelet / "plugins_registry").iterdir()) == []


def test_a_plugin_that_was_killed_starts_again(node: Node, client: Client) -> None:
    node.stop(signal.SIGKILL)
    node.start("--dataset=imagenet")
    assert client.call("Identity", "GetPluginInfo").name == DRIVER


def test_who_it_is_and_what_it_can(client: Client, csi: Any) -> None:
    assert client.call("Node", "NodeGetInfo").node_id == "n1"
    (capability,) = client.call("Node", "NodeGetCapabilities").capabilities
    assert capability.rpc.type == csi.NodeServiceCapability.RPC.GET_VOLUME_STATS
    assert list(client.call("Identity", "GetPluginCapabilities").capabilities) == []
    client.call("Identity", "Probe")


def test_what_it_does_not_do_is_unimplemented(client: Client) -> None:
    assert client.refused("call", "Node", "NodeStageVolume", volume_id="one")[0] == "UNIMPLEMENTED"
    assert client.refused("call", "Node", "NodeExpandVolume", volume_id="one")[0] == "UNIMPLEMENTED"

"""Services of a CSI node plugin: Identity and Node of the CSI, and the Registration that a kubelet asks for.

A volume shows the folder above a dataset's mount point, as pods get it by hostPath. What FUSE mounts anew there comes
to the volume by itself, and to containers that mount it with `mountPropagation: HostToContainer`.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import api_pb2
import csi_mounts
import csi_pb2
import grpc
from csi_datasets import Dataset, NotServedError, Space

Call = grpc.ServicerContext


class Identity:
    """Who the plugin is."""

    def __init__(self, driver: str) -> None:
        self._driver = driver

    def GetPluginInfo(self, _request: Any, _call: Call) -> Any:  # noqa: N802 (names of methods are the definition's)
        """Its name."""
        return csi_pb2.GetPluginInfoResponse(name=self._driver, vendor_version="1")

    def GetPluginCapabilities(self, _request: Any, _call: Call) -> Any:  # noqa: N802
        """None: it makes no volumes."""
        return csi_pb2.GetPluginCapabilitiesResponse()

    def Probe(self, _request: Any, _call: Call) -> Any:  # noqa: N802
        """It is ready as soon as it answers."""
        return csi_pb2.ProbeResponse()


class Registration:
    """What the kubelet asks a plugin that it found."""

    def __init__(self, driver: str, endpoint: str, told: Callable[[str], None]) -> None:
        self._driver, self._endpoint, self._told = driver, endpoint, told

    def GetInfo(self, _request: Any, _call: Call) -> Any:  # noqa: N802
        """Its kind, its name, and the socket of its services."""
        return api_pb2.PluginInfo(
            type="CSIPlugin", name=self._driver, endpoint=self._endpoint, supported_versions=["1.0.0"]
        )

    def NotifyRegistrationStatus(self, request: Any, _call: Call) -> Any:  # noqa: N802
        """Tells the plugin what the kubelet thinks of it; "" is good."""
        self._told("" if request.plugin_registered else request.error or "no reason was said")
        return api_pb2.RegistrationStatusResponse()


class Node:
    """Volumes of pods on one node."""

    def __init__(self, node: str, datasets: Mapping[str, Dataset], folder: Path) -> None:
        """folder: of the kubelet. Nothing is mounted or unmounted elsewhere."""
        self._node, self._datasets, self._folder = node, datasets, folder
        self._changes = threading.Lock()

    def NodeGetInfo(self, _request: Any, _call: Call) -> Any:  # noqa: N802
        """The node's name."""
        return csi_pb2.NodeGetInfoResponse(node_id=self._node)

    def NodeGetCapabilities(self, _request: Any, _call: Call) -> Any:  # noqa: N802
        """It tells how full a volume is."""
        rpc = csi_pb2.NodeServiceCapability.RPC(type=csi_pb2.NodeServiceCapability.RPC.GET_VOLUME_STATS)
        return csi_pb2.NodeGetCapabilitiesResponse(capabilities=[csi_pb2.NodeServiceCapability(rpc=rpc)])

    def NodePublishVolume(self, request: Any, call: Call) -> Any:  # noqa: N802
        """Shows a dataset at a pod's folder; while it is not served, an error that becomes an event of the pod."""
        target = self._target(request, request.target_path, call)
        _refuse_kinds(request.volume_capability, call)
        dataset = self._dataset(request.volume_context.get("dataset", ""), call)
        if dataset.writable and request.readonly:
            _refuse(
                call,
                f"dataset {dataset.name} is writable, and what FUSE mounts anew in a read-only volume would be, too: "
                "remove readOnly, and run the pod as a user who may not write there",
            )
        with self._changes:
            if _shows(target, dataset):
                return csi_pb2.NodePublishVolumeResponse()
        self._space(dataset, call)
        with self._changes:
            if _shows(target, dataset):  # by a call at the same time
                return csi_pb2.NodePublishVolumeResponse()
            if target in csi_mounts.points():
                call.abort(
                    grpc.StatusCode.FAILED_PRECONDITION, f"{target} on node {self._node} shows something else already"
                )
            Path(target).mkdir(mode=0o750, exist_ok=True)
            csi_mounts.bind(str(dataset.parent), target)
        about = request.volume_context
        pod = "/".join(about.get(f"csi.storage.k8s.io/pod.{key}", "") for key in ("namespace", "name"))
        print(f"{self._node}: {dataset.name} for pod {pod}", flush=True)
        return csi_pb2.NodePublishVolumeResponse()

    def NodeUnpublishVolume(self, request: Any, call: Call) -> Any:  # noqa: N802
        """Unmounts a pod's folder and removes it, which must be empty then."""
        target = self._target(request, request.target_path, call)
        with self._changes:
            try:
                csi_mounts.unmount(target)
                Path(target).rmdir()
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise
                end = "end who uses it, or move away what is in it"
                why = f"{target} on node {self._node} stays: {error.strerror}: {end}"
                call.abort(grpc.StatusCode.FAILED_PRECONDITION, why)
        return csi_pb2.NodeUnpublishVolumeResponse()

    def NodeGetVolumeStats(self, request: Any, call: Call) -> Any:  # noqa: N802
        """Bytes of the dataset, and inodes where they are counted, as `df` has them."""
        if not request.volume_id or not request.volume_path:
            _refuse(call, "volume_id or volume_path is empty")
        shown = next((one for one in self._datasets.values() if _shows(request.volume_path, one)), None)
        if shown is None:
            call.abort(grpc.StatusCode.NOT_FOUND, f"{request.volume_path} on node {self._node} shows no dataset")
        kinds = csi_pb2.VolumeUsage
        size, inodes = self._space(shown, call)
        usage = [_usage(kinds.BYTES, size), *([_usage(kinds.INODES, inodes)] if inodes else [])]
        return csi_pb2.NodeGetVolumeStatsResponse(usage=usage)

    def _target(self, request: Any, path: str, call: Call) -> str:
        if not request.volume_id:
            _refuse(call, "volume_id is empty")
        target = PurePosixPath(os.path.normpath(path or "/"))
        if not path or self._folder not in map(Path, target.parents):
            _refuse(call, f"{path or 'an empty path'} is not below {self._folder}: correct csi.kubeletFolder")
        return str(target)

    def _dataset(self, name: str, call: Call) -> Dataset:
        known = ", ".join(sorted(self._datasets)) or "none"
        if not name:
            _refuse(call, f"volumeAttributes has no dataset: write one of {known}")
        if name not in self._datasets:
            call.abort(grpc.StatusCode.NOT_FOUND, f"the release has no dataset {name}: write one of {known}")
        return self._datasets[name]

    def _space(self, dataset: Dataset, call: Call) -> tuple[Space, Space | None]:
        try:
            return dataset.space()
        except NotServedError as error:
            call.abort(grpc.StatusCode.UNAVAILABLE, str(error))


def handlers(definition: Any, services: Mapping[str, object]) -> list[grpc.GenericRpcHandler]:
    """What a server calls for the services of a definition, by name; methods that one has not are UNIMPLEMENTED."""
    made = []
    for name, service in services.items():
        described = definition.DESCRIPTOR.services_by_name[name]
        methods = {
            method.name: grpc.unary_unary_rpc_method_handler(
                getattr(service, method.name),
                request_deserializer=getattr(definition, method.input_type.name).FromString,
                response_serializer=getattr(definition, method.output_type.name).SerializeToString,
            )
            for method in described.methods
            if hasattr(service, method.name)
        }
        made.append(grpc.method_handlers_generic_handler(described.full_name, methods))
    return made


def _refuse(call: Call, why: str) -> NoReturn:
    call.abort(grpc.StatusCode.INVALID_ARGUMENT, why)


def _refuse_kinds(capability: Any, call: Call) -> None:
    if capability.WhichOneof("access_type") != "mount":
        _refuse(call, "a dataset is a filesystem: write volumeMode Filesystem")
    if capability.mount.mount_flags:
        _refuse(call, f"mountOptions {' '.join(capability.mount.mount_flags)}: FUSE has mounted already: remove them")


def _shows(target: str, dataset: Dataset) -> bool:
    """Whether a folder shows the dataset: the same folder of the same device as its parent."""
    if target not in csi_mounts.points():
        return False
    try:
        return Path(target).samefile(dataset.parent)
    except OSError:
        return False


def _usage(unit: int, space: Space) -> Any:
    return csi_pb2.VolumeUsage(unit=unit, total=space.total, used=space.used, available=space.available)

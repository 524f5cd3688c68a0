"""The cluster: comes up, grows, loses a node, goes away."""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import node_images
import store
import yaml
from certificates import Authority, write
from settings import (
    API_SERVER,
    CONTROL,
    DNS,
    HERE,
    KERNEL,
    KUBECONFIG,
    LAB,
    NAME,
    NETWORK,
    POD_NET,
    ROOT,
    SERVICE_NET,
    SHARED,
    STORE,
    Node,
    as_root,
    nodes,
    podman,
    pool_map,
    run,
)

STARTED = time.monotonic()


def say(what: str) -> None:
    """Progress, with the seconds so far."""
    print(f"lab: {time.monotonic() - STARTED:5.1f} s  {what}", flush=True)


def programs() -> Path:
    """The folder of the Kubernetes programs, built unless they are there."""
    return Path(run(ROOT / "tests/lab/kubernetes/build", "hyperkube", "coredns").splitlines()[-1])


def kubectl(*arguments: str, text: str | None = None) -> str:
    """The output of kubectl on the lab."""
    return run(programs() / "kubectl", f"--kubeconfig={KUBECONFIG}", *arguments, text=text)


def up(gpu_nodes: int) -> None:
    """Brings everything up that is not: control node, GPU nodes, DNS, storage, images, S3 store, inventory."""
    refuse_another()
    tools = programs()
    node_images.build(tools)
    say("programs and images are there")
    remember_kernel()
    if subprocess.run(as_root(["podman", "network", "exists", NAME]), check=False).returncode != 0:
        podman("network", "create", "--disable-dns", "--subnet", f"{NETWORK}.0/24", "--gateway", f"{NETWORK}.1", NAME)
    wanted = sorted({CONTROL, *nodes(), *(Node(index) for index in range(1, gpu_nodes + 1))}, key=lambda one: one.index)
    authority = Authority(LAB / "authority")
    authority.kubeconfig(KUBECONFIG, API_SERVER, "admin", "system:masters")
    for node in wanted:
        settle(node, authority)
    store.SAMPLE.mkdir(parents=True, exist_ok=True)
    pool_map(lambda node: start(node, tools), wanted)
    say(f"nodes run: {', '.join(node.name for node in wanted)}")
    wait(60, "the API server", lambda: kubectl("get", "--raw", "/readyz") == "ok")
    node_images.load([node_images.TOOLS_IMAGE, node_images.DNS_IMAGE], wanted)
    for manifest in sorted((HERE / "manifests").iterdir()):
        kubectl("apply", "-f", str(manifest))
    for node in wanted:
        wait_ready(node)
    say("nodes are Ready")
    node_images.load([node_images.ALLUXIO_IMAGE], wanted)
    say(f"{node_images.ALLUXIO_IMAGE} is loaded")
    running = store.start()
    store.fill(running)
    say(f"S3 store {running.endpoint} holds {store.BUCKET}/{store.PREFIX}")
    kubectl("-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s")
    write_inventory(wanted, running)
    say(f"up: export KUBECONFIG={KUBECONFIG}; inventory in {LAB / 'inventory'}")


def refuse_another() -> None:
    """Node names and addresses are fixed: one lab per machine."""
    if not shutil.which("podman"):
        return
    listed = podman("ps", "--all", "--filter", f"label={NAME}", "--format", f'{{{{index .Labels "{NAME}"}}}}')
    if others := set(listed.split()) - {str(ROOT)}:
        raise SystemExit(f"lab: the lab of {', '.join(sorted(others))} is up: take it down there first (make lab-down)")


def down() -> None:
    """Takes everything away that `up` made, and puts the kernel's settings back."""
    refuse_another()
    names = podman("ps", "--all", "--filter", f"label={NAME}", "--format", "{{.Names}}").split()
    if names:
        podman("rm", "--force", "--time", "0", "--volumes", *names)
        forget(*names)
    volumes = podman("volume", "ls", "--filter", f"label={NAME}={ROOT}", "--format", "{{.Name}}").split()
    if volumes:
        podman("volume", "rm", *volumes)
    if subprocess.run(as_root(["podman", "network", "exists", NAME]), check=False).returncode == 0:
        podman("network", "rm", NAME)
    for setting in KERNEL:
        if (former := LAB / "kernel" / setting).exists():
            run(*as_root(["tee", f"/proc/sys/{setting}"]), text=former.read_text())
    run(*as_root(["rm", "-rf", LAB]))
    say("down")


def forget(*names: str) -> None:
    """Removes what says which containers nodes are."""
    run(*as_root(["rm", "-f", *(Path("/run/alluxio-fuse-nodes", name) for name in names)]))


def add() -> Node:
    """A further GPU node, Ready."""
    node = Node(max((one.index for one in nodes()), default=0) + 1)
    up(node.index)
    return node


def remove(name: str) -> None:
    """Takes a GPU node away for good, its disk too."""
    node = one_of(name)
    kubectl("delete", "node", node.name, "--ignore-not-found")
    podman("rm", "--force", "--time", "0", "--volumes", node.name)
    podman("volume", "rm", "--force", f"{NAME}-{node.name}")
    forget(node.name)
    run(*as_root(["rm", "-rf", node.folder]))
    write_inventory(nodes(), store.start())


def one_of(name: str) -> Node:
    """The node of that name."""
    for node in nodes():
        if node.name == name:
            return node
    raise SystemExit(f"lab: no node {name}: there are {', '.join(node.name for node in nodes())}")


def power(name: str, state: str) -> None:
    """Cuts a node's power, or gives it back; its disk stays."""
    node = one_of(name)
    if state == "off":
        podman("kill", "--signal", "KILL", node.name)
    else:
        podman("start", node.name)


def remember_kernel() -> None:
    """Keeps the settings that kubelets write; they are the host's."""
    for setting in KERNEL:
        kept = LAB / "kernel" / setting
        if not kept.exists():
            write(kept, Path("/proc/sys", setting).read_text())


def settle(node: Node, authority: Authority) -> None:
    """Writes what a node reads as /etc/kubernetes."""
    folder = node.folder
    server = {
        "NODE_NAME": node.name,
        "NODE_IP": node.address,
        "INDEX": str(node.index),
        "NODE_NET": NETWORK,
        "POD_NET": POD_NET,
        "SERVICE_NET": SERVICE_NET,
        "API_SERVER": API_SERVER,
        "NODE_LABELS": "nvidia.com/gpu.present=true" if node.index else "",
    }
    write(folder / "node.env", "".join(f"{key}={amount}\n" for key, amount in server.items()))
    write(folder / "ca.crt", (LAB / "authority" / "ca.crt").read_bytes())
    authority.issue(folder / "kubelet", f"system:node:{node.name}", "system:nodes", (node.name, node.address))
    authority.issue(folder / "volumes", "volumes", "system:masters")
    authority.kubeconfig(folder / "kubelet.kubeconfig", API_SERVER, f"system:node:{node.name}", "system:nodes")
    authority.kubeconfig(folder / "kube-proxy.kubeconfig", API_SERVER, "system:kube-proxy")
    write(folder / "kubelet.yaml", yaml.safe_dump(kubelet(node)))
    write(folder / "kube-proxy.yaml", yaml.safe_dump(PROXY))
    write(folder / "resolv.conf", "")
    if node == CONTROL:
        for name in ("controller-manager", "scheduler"):
            authority.kubeconfig(folder / f"{name}.kubeconfig", API_SERVER, f"system:kube-{name}")
        service = tuple(f"kubernetes{end}" for end in ("", ".default", ".default.svc", ".default.svc.cluster.local"))
        addresses = (node.address, "127.0.0.1", SERVICE_NET.replace(".0/16", ".1"))
        authority.issue(folder / "apiserver", "kube-apiserver", "", (*service, *addresses))
        authority.issue(folder / "admin", "kube-apiserver-client", "system:masters")
        for name in ("ca.key", "service-account.key", "service-account.pub"):
            write(folder / name, (LAB / "authority" / name).read_bytes())


def kubelet(node: Node) -> dict[str, object]:
    """The kubelet's configuration. A node is a container: what it may not set is logged, and cgroup v1 will do."""
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": "/etc/kubernetes/kubelet.crt",
        "tlsPrivateKeyFile": "/etc/kubernetes/kubelet.key",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "featureGates": {"KubeletInUserNamespace": True},
        "maxOpenFiles": 20000,
        "oomScoreAdj": 0,
        "clusterDNS": [DNS],
        "clusterDomain": "cluster.local",
        "resolvConf": "/etc/kubernetes/resolv.conf",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "nodeLeaseDurationSeconds": 12,
        "serializeImagePulls": False,
        "registerWithTaints": [taint] if node.index else [],
    }


PROXY = {
    "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
    "kind": "KubeProxyConfiguration",
    "mode": "iptables",
    "clientConnection": {"kubeconfig": "/etc/kubernetes/kube-proxy.kubeconfig"},
    "clusterCIDR": f"{POD_NET}.0.0/16",
    "oomScoreAdj": 0,
    "iptables": {"minSyncPeriod": "100ms"},
    # Not writable in a network namespace.
    "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
}


def start(node: Node, tools: Path) -> None:
    """Makes or starts the node's container, unless it runs."""
    state = podman("ps", "--all", "--filter", f"name=^{node.name}$", "--format", "{{.State}}").strip()
    if state == "running":
        return
    if state:
        podman("start", node.name)
        return
    volume = f"{NAME}-{node.name}"
    podman("volume", "create", "--label", f"{NAME}={ROOT}", volume)
    # podman's own limit of 2048 threads is a container's, not a node's.
    place = ["--network", NAME, "--ip", node.address, "--label", f"{NAME}={ROOT}", "--pids-limit=-1"]
    # A volume for /var: a runtime's overlay cannot lie on podman's.
    volumes = [f"{volume}:/var", f"{tools}:/opt/kubernetes:ro", f"{node.folder}:/etc/kubernetes:ro"]
    volumes.append(f"{store.SAMPLE}:{SHARED}:ro")
    run(ROOT / "tests/lab/node/up", node.name, node_images.NODE_IMAGE, *place, *(f"--volume={one}" for one in volumes))


def wait_ready(node: Node) -> None:
    """Until the node is Ready."""
    how = '-o=jsonpath={.status.conditions[?(@.type=="Ready")].status}'
    wait(120, f"node {node.name}", lambda: kubectl("get", "node", node.name, how) == "True")


def wait(seconds: float, what: str, good: Callable[[], bool]) -> None:
    """Until it is good; afterwards, the reason why it is not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if good():
                return
            reason = "not ready"
        except SystemExit as error:
            reason = str(error)
        if time.monotonic() > deadline:
            raise SystemExit(f"lab: {what} is not there after {seconds:.0f} s: {reason}")
        time.sleep(0.3)


def write_inventory(all_nodes: list[Node], running: "store.object_store.ObjectStore") -> None:
    """What Ansible needs: hosts by group, and what the lab knows."""
    hosts = {
        "control": {"hosts": {node.name: None for node in all_nodes if not node.index}},
        "gpu_nodes": {"hosts": {node.name: None for node in all_nodes if node.index}},
    }
    connection = {"ansible_connection": "node", "ansible_python_interpreter": "/usr/bin/python3"}
    lab = {
        "lab_kubeconfig": str(KUBECONFIG),
        "lab_s3_endpoint": running.endpoint,
        "lab_s3_ca_file": str(running.ca_file),
        "lab_store": STORE,
        "lab_bucket": store.BUCKET,
        "lab_dataset": f"s3://{store.BUCKET}/{store.PREFIX}",
        "lab_access_key": running.access_key,
        "lab_secret_key": running.secret_key,
        "lab_next_access_key": running.next_key[0],
        "lab_next_secret_key": running.next_key[1],
        "lab_owner_access_key": running.owner[0],
        "lab_owner_secret_key": running.owner[1],
        "lab_sample": str(store.SAMPLE),
        "lab_shared": SHARED,
    }
    inventory = {"all": {"children": hosts, "vars": connection}}
    write(LAB / "inventory/hosts.yml", yaml.safe_dump(inventory, sort_keys=False))
    write(LAB / "inventory/group_vars/all/lab.yml", yaml.safe_dump(lab, sort_keys=False))

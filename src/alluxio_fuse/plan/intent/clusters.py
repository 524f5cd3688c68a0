"""What an inventory says of the clusters that services run in, or read through."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from alluxio_fuse.plan.intent.parts import Name, Path, Strict, wrong
from alluxio_fuse.plan.units import Amount, Switch, Whole


class Mirrors(Strict):
    """Package mirrors; the planner does not use them."""

    maven: str | None = None
    debian: str | None = None
    go: str | None = None


def _master(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", host) or not port.isdigit() or not 0 < int(port) < 65536:
        raise wrong("master", "not an address of a master", "write host:port, like alluxio.example:19998")
    return value


class RunningCluster(Strict):
    """Only for platform `host`: the Alluxio cluster that runs elsewhere, for datasets that are read through one."""

    masters: list[Annotated[str, AfterValidator(_master)]] = Field(
        [], description="RPC addresses of its masters, host:port; each dataset is mounted there at /<name> already."
    )
    password: Switch = Field(
        False,
        description="Whether it answers only clients with a password, as a deployment of this bundle does."
        " The password itself is `alluxio_cluster_password`, in a vault.",
    )


def _labels(value: dict[str, str]) -> dict[str, str]:
    for key, label in value.items():
        if not re.fullmatch(r"([a-z0-9.-]+/)?[A-Za-z0-9][\w.-]{0,62}", key) or not re.fullmatch(r"[\w.-]{0,63}", label):
            raise wrong(
                "label", f"{key}: {label} is no label of a Kubernetes node", 'write {"example.com/pool": "gpu"}'
            )
    return value


Labels = Annotated[dict[str, str], AfterValidator(_labels)]


class Delivery(Strict):
    """How the image gets to where pods find it. See docs/kubernetes.md, "The image"."""

    by: Literal["pull", "push", "import"] = Field(
        "pull",
        description="`pull`: it is where nodes can pull it. `push`: a run builds it and pushes it to alluxio_image."
        " `import`: a run builds it and imports it into containerd on every node, under the name alluxio_image.",
    )
    auth_file: Path | None = Field(
        None, description="File on the controller with the registry's credentials, as `podman login` writes it."
    )
    ca_file: Path | None = Field(None, description="PEM file on the controller with the registry's CA.")
    insecure: Switch = Field(False, description="Whether the registry may speak plain HTTP, or have any certificate.")


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _namespace(value: str) -> str:
    if len(value) > 63 or not re.fullmatch(_LABEL, value):
        raise wrong("name", "not a namespace's name", "use up to 63 small letters, digits and hyphens")
    return value


def _secret(value: str) -> str:
    if len(value) > 253 or not re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", value):
        raise wrong("name", "not a Secret's name", "use up to 253 small letters, digits, hyphens and dots")
    return value


SecretName = Annotated[str, AfterValidator(_secret)]


class Kubernetes(Strict):
    """Only for platforms `kubernetes` and `fluid`: the cluster, and where in it."""

    kubeconfig: Path | None = Field(None, description="File on the controller. Unset: KUBECONFIG, or ~/.kube/config.")
    context: str | None = Field(None, min_length=1, description="Context in it. Unset: the current one.")
    namespace: Annotated[str, AfterValidator(_namespace)] | None = Field(
        None, description="Namespace; made where it is missing. Unset: alluxio_name."
    )
    node_access: Switch = Field(
        True,
        description="Whether the inventory reaches the nodes. If not, node stages are skipped, and what is looked at on"
        " nodes is looked at from pods: see docs/kubernetes.md.",
    )
    node_selector: Labels = Field(
        {},
        description="Labels of the nodes for workers and FUSE, like those of an autoscaled pool. Unset: the hosts of"
        " gpu_nodes get a label of ours.",
    )
    tolerations: list[dict[str, Any]] = Field([], description="Tolerations of every pod, besides nvidia.com/gpu.")
    storage_class: str = Field("", description="Storage class of the master's journal. Unset: the cluster's default.")
    release: Literal["own", "external"] = Field(
        "own",
        description="Who installs the chart: the run, or another tool (Argo CD, Flux, helm in CI) under the name"
        " alluxio_name, with the values.yaml that playbooks/plan.yml writes. Of that one the run says what differs.",
    )
    image: Delivery = Field(Delivery(), description="How the image gets to where pods find it.")
    pull_secrets: list[SecretName] = Field([], description="Existing image pull secrets in the namespace.")
    secrets: dict[Name, SecretName] = Field(
        {},
        description="By dataset, an existing Secret in the namespace with access_key, secret_key and, for OSS, maybe"
        " security_token, which pods use in place of one made from alluxio_credentials. The controller reads the"
        " source, too, with alluxio_credentials.",
    )
    values: dict[str, Any] = Field(
        {},
        description="Further values of the chart, as charts/alluxio-fuse/README.md lists them, for example monitoring."
        " Those that the plan writes are refused. Not for secrets: they are in the plan.",
    )
    gpu_labels: Switch = Field(
        False,
        description="Write nvidia.com/gpu.present, .product and .count to nodes that neither GPU Feature Discovery nor"
        " the GPU Operator labels.",
    )
    keep_journal: Switch = Field(True, description="Whether teardown leaves the journal's claim, and its namespace.")


def _load(value: Any) -> Any:
    """YAML reads a bare `off` as false."""
    return "off" if value is False else value


def _schedule(value: str) -> str:
    if value not in ("off", "once") and not re.fullmatch(r"[0-9*/,A-Za-z-]+( [0-9*/,A-Za-z-]+){4}", value):
        raise wrong(
            "load", "neither a word nor a schedule", 'write off, once, or five fields of cron, like "0 3 * * *"'
        )
    return value


class FluidFurther(Strict):
    """Further fields of the objects, as Fluid documents them; those that the plan writes are refused."""

    dataset: dict[str, Any] = Field({}, description="Of the Dataset's spec.")
    runtime: dict[str, Any] = Field({}, description="Of the runtime's spec.")


class Fluid(Strict):
    """Only for platform `fluid`: what its objects say beside the plan. See docs/fluid.md."""

    runtime: Literal["alluxio", "jindo"] = Field("alluxio", description="AlluxioRuntime, or JindoRuntime.")
    image: str = Field(
        "",
        description="Image of the runtime's pods, with a tag. Unset: alluxio_image; with runtime jindo what Fluid's"
        " controller names.",
    )
    load: Annotated[str, AfterValidator(_schedule), BeforeValidator(_load)] = Field(
        "off",
        description="A DataLoad: `once`, or a schedule in cron's five fields. Warm-up loads the workers anyway, after"
        " it has measured cold reads.",
    )
    affinity: Labels = Field(
        {},
        description="Labels that a node must have to cache or to mount. Unset: those of"
        " alluxio_kubernetes.node_selector, else the GPU models (nvidia.com/gpu.product) of the hosts in gpu_nodes,"
        " else these hosts by name.",
    )
    further: FluidFurther = Field(FluidFurther(), description="Further fields of the objects.")


class Headroom(Strict):
    """What masters and workers are sized for, at least: a dataset within it changes nothing of their sizes."""

    datasets: Whole = Field(1, ge=1, description="Datasets, those of today included.")
    files: Whole = Field(0, ge=0, description="Files of all of them.")
    bytes: Amount = Field(0, description="Bytes of all of them, as workers are to hold.")

"""Faults while processes on a GPU node read, in the lab's cluster: what they saw, how long it took, no byte wrong.

Each drill begins when all is as before. The table is printed at the end, and kept in runs/.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import leftovers
import pytest
import yaml
from bundle import succeed
from cluster import ROOT, Cluster, CommandError, is_ready, restarts
from main_job import LAB_INVENTORY, NAME, Job, connection, deploy, digests, inventory_of, sample_digests
from object_store import ObjectStore, forget
from readers import READING, Drill, Readers, reading

COMPONENT = "app.kubernetes.io/component"
SPACE = f"--namespace={NAME}"
FUSE, WORKER = "alluxio.image.Start fuse", "alluxio.image.Start worker"
#: A part of the set, so that every layer is needed; on disk, so that it outlives its pod.
CACHES = {"fuse.client_cache_size": "16Mi", "worker.tier_quota": "64Mi"}
PLANNED: dict[str, Any] = {
    "alluxio_overrides": CACHES,
    "alluxio_cache_tiers": [{"medium": "ssd", "path": "/var/cache", "budget": "1Gi"}],
}
THERE = "/srv/drills"
ENVIRONMENT = yaml.safe_load((ROOT / "tests/cluster/environment/group_vars/all/main.yml").read_text())
REFUSING = ROOT / "tests/lab/refusing.py"
CTR = ("ctr", "--namespace=k8s.io", "images")


@pytest.fixture(scope="module")
def job(cluster: Cluster, lab: list[str]) -> Iterator[Job]:
    made = Job(cluster, LAB_INVENTORY)
    deploy(made, **PLANNED)
    yield made
    made.play("playbooks/teardown.yml")


@pytest.fixture(scope="module")
def here(job: Job) -> str:
    """The node whose readers are looked at."""
    return job.cluster.gpu_nodes()[0]


@pytest.fixture(scope="module")
def readers(job: Job, here: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    """Processes that read; every name was asked for once before, as after warming."""
    job.podman("exec", here, "find", f"/mnt/{NAME}/imagenet/data", "-size", "+0")
    folder = tmp_path_factory.mktemp("reading")
    (folder / "digests.json").write_text(json.dumps(sample_digests(Path(job.cluster.settings["lab_sample"]))))
    job.podman("exec", here, "mkdir", "-p", THERE)
    for file in (READING, folder / "digests.json"):
        job.podman("cp", str(file), f"{here}:{THERE}/{file.name}")
    command = [f"{THERE}/reading.py", f"/mnt/{NAME}/imagenet/data", f"{THERE}/digests.json"]
    commands = [["podman", "exec", here, "python3", *command, str(seed)] for seed in range(3)]
    with leftovers.recorded("command", end_of_readers(here)), reading(commands, folder) as running:
        running.settle(time.time(), 300)
        yield running
    table = running.table()
    (ROOT / "runs" / "drills-kubernetes.md").write_text(f"{table}\n")
    print(f"\n{table}")


def end_of_readers(node: str) -> list[str]:
    """The command that ends the readers of a node, if it is there: killing `podman exec` ends no process in it."""
    there = f"pkill -f {THERE}/reading[.]py; rm -rf {THERE}"
    return ["sh", "-c", f"! podman container exists {node} || podman exec {node} sh -c '{there}'"]


@pytest.fixture
def drill(job: Job, readers: Readers) -> Callable[..., Drill]:
    """Runs a drill that must leave no wrong byte."""

    def run(fault: str, happen: Callable[[], Any], limit: float = 400) -> Drill:
        done = readers.drill(fault, happen, lambda: started(job), limit)
        assert done.wrong == 0
        assert done.reads > 0
        return done

    return run


def started(job: Job) -> dict[str, str]:
    """By component and node: the pod that serves, and how often its containers were started again."""
    served = {}
    for pod in job.cluster.pods(NAME).values():
        component = pod["metadata"]["labels"][COMPONENT]
        if component != "mounts":
            served[f"{component} on {pod['spec'].get('nodeName')}"] = f"{pod['metadata']['uid']} {restarts(pod)}"
    return served


def signal_on(node: str, signal: str, what: str) -> None:
    """Sends a signal to processes of a node, by their command line."""
    subprocess.run(["podman", "exec", node, "pkill", f"-{signal}", "-f", what], check=False)


def all_ready(job: Job) -> bool:
    """Whether every pod of the release is Ready."""
    return all(is_ready(pod) for pod in job.cluster.pods(NAME).values())


def only(component: str, node: str) -> list[str]:
    """One service that was started again."""
    return [f"{component} on {node}"]


def fuse_pod(job: Job, node: str, dataset: str = "imagenet") -> str:
    """The name of a node's FUSE pod."""
    pods = job.cluster.pods(NAME, f"fuse-{dataset}").items()
    return next(name for name, pod in pods if pod["spec"]["nodeName"] == node)


def exhaust_memory(job: Job, pod: str) -> None:
    """Fills a file in memory until the container has no more: the kernel ends FUSE, its largest process."""
    (container,) = job.cluster.pods(NAME)[pod]["spec"]["containers"]
    size = int(container["resources"]["limits"]["memory"].removesuffix("Mi")) - 64
    fill = f"mount -t tmpfs -o size={size}m tmpfs /tmp && exec cat /dev/zero >/tmp/zeros"
    with pytest.raises(CommandError):
        job.cluster.kubectl(SPACE, "exec", pod, "--container=fuse", "--", "unshare", "--mount", "sh", "-c", fill)


def test_the_fuse_pod_is_deleted(drill: Callable[..., Drill], job: Job, here: str) -> None:
    done = drill("FUSE pod deleted", lambda: job.cluster.kubectl(SPACE, "delete", "pod", fuse_pod(job, here)))
    assert done.restarted == only("fuse-imagenet", here)


def test_fuse_is_killed(drill: Callable[..., Drill], here: str) -> None:
    done = drill("FUSE killed -9", lambda: signal_on(here, "KILL", FUSE))
    assert done.restarted == only("fuse-imagenet", here)


def test_fuse_is_killed_for_memory(drill: Callable[..., Drill], job: Job, here: str) -> None:
    done = drill("FUSE killed for memory", lambda: exhaust_memory(job, fuse_pod(job, here)))
    assert "ENOTCONN" in done.saw
    assert done.restarted == only("fuse-imagenet", here)
    (status,) = job.cluster.pods(NAME)[fuse_pod(job, here)]["status"]["containerStatuses"]
    last = status["lastState"]["terminated"]
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)


def test_a_hung_fuse_is_told_and_let_go(drill: Callable[..., Drill], job: Job, here: str) -> None:
    """Stopped, it answers nothing: status tells without hanging itself, and unstick ends the waiting."""

    def hang() -> None:
        signal_on(here, "STOP", FUSE)
        time.sleep(2)
        run = job.play("playbooks/status.yml")
        assert run.status == 2
        assert f"FUSE process on {here}, imagenet: the FUSE process is there and does not answer" in run.output
        run = succeed(job.play("playbooks/unstick.yml", "--limit", here, alluxio_unstick="imagenet"))
        assert "requests waited; files were open in" in run.output

    done = drill("FUSE hung, unstuck", hang)
    assert done.restarted == only("fuse-imagenet", here)


def test_the_worker_is_killed(drill: Callable[..., Drill], here: str) -> None:
    done = drill("worker killed -9", lambda: signal_on(here, "KILL", WORKER))
    assert done.restarted == only("worker", here)


def test_all_workers_are_away(drill: Callable[..., Drill], job: Job) -> None:
    selector = {"path": "/spec/template/spec/nodeSelector/nowhere"}

    def patch(change: dict[str, str]) -> None:
        said = json.dumps([selector | change])
        job.cluster.kubectl(SPACE, "patch", f"daemonset/{NAME}-worker", "--type=json", "--patch", said)

    def away() -> None:
        patch({"op": "add", "value": "there"})
        job.cluster.wait("no worker is left", lambda: not job.cluster.pods(NAME, "worker"), 120)
        time.sleep(20)
        patch({"op": "remove"})

    done = drill("all workers away for 20 s", away)
    assert done.restarted == [f"worker on {node}" for node in job.cluster.gpu_nodes()]


def test_the_master_is_restarted(drill: Callable[..., Drill], job: Job) -> None:
    def restart() -> None:
        job.cluster.kubectl(SPACE, "delete", "pod", f"{NAME}-master-0")
        job.cluster.wait_ready(NAME, {"master": 1})

    done = drill("master pod deleted", restart)
    assert [name.partition(" ")[0] for name in done.restarted] == ["master"]


def test_the_master_is_away_for_a_minute(drill: Callable[..., Drill], job: Job) -> None:
    def scale(replicas: int) -> None:
        job.cluster.kubectl(SPACE, "scale", f"statefulset/{NAME}-master", f"--replicas={replicas}")

    def away() -> None:
        scale(0)
        job.cluster.wait("no master is left", lambda: not job.cluster.pods(NAME, "master"), 60)
        begun = time.monotonic()
        try:
            run = job.play("playbooks/status.yml")
            assert run.status == 2
            assert "FAILING  master:" in run.output
            time.sleep(max(0.0, begun + 60 - time.monotonic()))
        finally:
            scale(1)

    done = drill("master away for a minute", away)
    assert [name.partition(" ")[0] for name in done.restarted] == ["master"]
    assert done.saw in ("nothing", "waited")


@pytest.mark.parametrize(
    ("what", "code"), [("answers 503", 503), ("refuses the key (403)", 403), ("is away", None)], ids=str
)
def test_the_under_store_does_not_serve(drill: Callable[..., Drill], job: Job, what: str, code: int | None) -> None:
    def fail() -> None:
        with no_store(job, code):
            time.sleep(20)

    done = drill(f"under store {what} for 20 s", fail)
    assert done.restarted == []
    assert done.saw in ("nothing", "waited")


def test_another_node_is_off_and_on(drill: Callable[..., Drill], job: Job, lab: list[str], here: str) -> None:
    """What its worker held is read from the store meanwhile; it serves again by itself."""
    other = next(node for node in job.cluster.gpu_nodes() if node != here)

    def off_and_on() -> None:
        subprocess.run([*lab, "power", other, "off"], check=True)
        time.sleep(40)
        subprocess.run([*lab, "power", other, "on"], check=True)
        job.cluster.wait("all pods are ready", lambda: all_ready(job), 300)

    done = drill("another node off and on", off_and_on)
    assert {name.partition(" on ")[2] for name in done.restarted} == {other}
    assert job.read_at_once()[other] == sample_digests(Path(job.cluster.settings["lab_sample"]))


def change(job: Job, **variables: Any) -> str:
    """Plan and services with other variables: what services said."""
    succeed(job.play("playbooks/plan.yml", **PLANNED, **variables))
    return succeed(job.play("playbooks/services.yml", **variables)).output


def test_fuse_is_replaced_only_where_nobody_reads(drill: Callable[..., Drill], job: Job, here: str) -> None:
    """Check mode tells where that is."""
    other = next(node for node in job.cluster.gpu_nodes() if node != here)
    said: list[str] = []

    def another_heap() -> None:
        variables = {**PLANNED, "alluxio_overrides": {**CACHES, "fuse.heap": "448Mi"}}
        succeed(job.play("playbooks/plan.yml", **variables))
        said.append(succeed(job.play("playbooks/services.yml", "--check")).output)
        said.append(succeed(job.play("playbooks/services.yml")).output)

    done = drill("a value of FUSE changed", another_heap)
    assert done.restarted == only("fuse-imagenet", other)
    foretold, told = said
    assert f"waits for its readers   fuse-imagenet on {here}: read by 3: python3 (" in foretold
    assert f"would be started again  fuse-imagenet on {other}" in foretold
    assert "again  worker" not in foretold
    assert f"{here}: fuse-imagenet stays as it was planned before, read by python3 (" in told
    status = job.play("playbooks/status.yml").output
    assert f"behind fuse-imagenet on {here}" in " ".join(status.split()), status[-3000:]


def test_another_image_leaves_fuse_to_its_readers(drill: Callable[..., Drill], job: Job, here: str) -> None:
    """The same one by another name, on every node."""
    image = "localhost/alluxio-fuse:next"
    for node in job.cluster.get("nodes"):
        job.podman("exec", node["metadata"]["name"], *CTR, "tag", "--force", job.cluster.image, image)
    said: list[str] = []
    done = drill("another image", lambda: said.append(change(job, alluxio_image=image)), 600)
    assert [name for name in done.restarted if name == f"fuse-imagenet on {here}"] == []
    assert {name.partition(" ")[0] for name in done.restarted} == {"master", "worker", "fuse-imagenet"}
    (backup,) = re.findall(r"^backup +(/\S+/journal.gz)$", said[0], re.MULTILINE)
    assert Path(backup).stat().st_mode & 0o777 == 0o600
    drill("back to the former image", lambda: change(job), 600)


def test_another_dataset_comes_and_goes(drill: Callable[..., Drill], job: Job, here: str) -> None:
    """Who reads the first one may wait, sees no error and keeps his FUSE; the other goes once nobody reads it."""
    both = [*ENVIRONMENT["alluxio_datasets"], {"name": "second", "source": "file:///srv/second"}]
    file = f"/mnt/{NAME}/second/data/file"
    for node in job.cluster.get("nodes"):
        job.podman("exec", node["metadata"]["name"], "sh", "-c", "mkdir -p /srv/second && seq 100000 >/srv/second/file")
    done = drill("another dataset added", lambda: change(job, alluxio_datasets=both), 600)
    assert f"fuse-imagenet on {here}" not in done.restarted
    assert done.saw in ("nothing", "waited")
    for node in job.cluster.gpu_nodes():
        job.podman("exec", node, "cmp", "/srv/second/file", file)
    job.podman("exec", "--detach", here, "sh", "-c", f"exec sleep 600 <{file}")
    succeed(job.play("playbooks/plan.yml", **PLANNED))
    refused = job.play("playbooks/services.yml")
    assert refused.status != 0
    why = "not planned any more, or of another pool than the node is now, or from before Alluxio's ports had a password"
    assert f"/second/data: {why}, and read by sleep (" in " ".join(refused.output.split())
    job.podman("exec", here, "cmp", "/srv/second/file", file)
    signal_on(here, "TERM", "sleep 600")
    done = drill("and removed", lambda: succeed(job.play("playbooks/services.yml")), 600)
    assert f"fuse-imagenet on {here}" not in done.restarted
    assert done.saw in ("nothing", "waited")
    assert "second" not in " ".join(job.cluster.pods(NAME))


def test_a_bucket_within_the_room_starts_nothing_again(drill: Callable[..., Drill], job: Job, here: str) -> None:
    """But its own FUSE; where nobody reads the first dataset, a FUSE that is planned otherwise now."""
    said, first = job.cluster.settings, ENVIRONMENT["alluxio_datasets"][0]
    keys, owner = lab_keys(job), store_owner(job)
    contents = {f"{number}.bin": bytes([number]) * 200_000 for number in range(20)}
    for name, content in contents.items():
        owner.put_object(Bucket=said["lab_bucket"], Key=f"second/{name}", Body=content)
    room = {"alluxio_room": {"datasets": 2, "files": 4000, "bytes": "1Gi"}}
    both = room | {
        "alluxio_datasets": [first, first | {"name": "second", "source": f"s3://{said['lab_bucket']}/second"}],
        "alluxio_credentials": {"imagenet": keys, "second": keys},
    }
    other = next(node for node in job.cluster.gpu_nodes() if node != here)
    drill("room for another dataset", lambda: change(job, **room), 600)
    added = drill("a bucket within the room added", lambda: change(job, **both), 600)
    command = ["podman", "exec", here, "sh", "-c", f"cd /mnt/{NAME}/second/data && sha256sum *"]
    assert digests(*command) == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    removed = drill("and removed", lambda: change(job, **room), 600)
    may = {f"fuse-imagenet on {other}", *(f"fuse-second on {node}" for node in (here, other))}
    assert {*added.restarted, *removed.restarted} <= may


def test_a_key_is_replaced(drill: Callable[..., Drill], job: Job) -> None:
    """While both are good; then the former may go."""
    keys = job.cluster.settings
    credentials = {"imagenet": {"access_key": keys["lab_next_access_key"], "secret_key": keys["lab_next_secret_key"]}}

    done = drill(
        "S3 key replaced", lambda: succeed(job.play("playbooks/services.yml", alluxio_credentials=credentials)), 600
    )
    assert done.restarted == []
    assert done.saw in ("nothing", "waited")
    with ExitStack() as stack:
        done = drill("the former key revoked", lambda: stack.enter_context(revoked(job, keys["lab_access_key"])))
        assert done.restarted == []
        assert done.saw in ("nothing", "waited")
    succeed(job.play("playbooks/services.yml"))


def test_a_node_is_lost_and_comes_back_under_another_name(
    drill: Callable[..., Drill], job: Job, lab: list[str], here: str, tmp_path: Path
) -> None:
    """It is not drained, and its Node object stays."""
    lost = next(node for node in job.cluster.gpu_nodes() if node != here)
    added: list[str] = []
    told: list[str] = []

    def lose() -> None:
        subprocess.run([*lab, "power", lost, "off"], check=True)
        added.append(subprocess.run([*lab, "add"], check=True, capture_output=True, text=True).stdout.split()[-1])
        renamed = Job(job.cluster, inventory_of(job.cluster, tmp_path, [lost], **connection()))
        parts = [f"playbooks/{name}.yml" for name in ("preflight", "plan", "nodes", "services")]
        told.append(succeed(renamed.play(*parts, **PLANNED)).output)

    try:
        drill("a node lost, and back under another name", lose, 900)
        read = job.read_at_once(*added)
        told.append(job.cluster.reasons(NAME))
        assert read == {added[0]: sample_digests(Path(job.cluster.settings["lab_sample"]))}, "\n".join(told)
        assert not [label for label in job.node_labels(lost) if "alluxio-fuse/" in label]
    finally:
        subprocess.run([*lab, "power", lost, "on"], check=True)
        for name in added:
            subprocess.run([*lab, "remove", name], check=True)
        deploy(job, **PLANNED)
    job.cluster.wait("all pods are ready", lambda: all_ready(job), 300)


def test_the_journal_is_restored(drill: Callable[..., Drill], job: Job, here: str, tmp_path: Path) -> None:
    """Numbers of the file that came after the backup are given again, and each file is still itself."""
    succeed(job.play("playbooks/plan.yml", **PLANNED))
    succeed(job.play("playbooks/backup.yml", backup_dir=str(tmp_path)))
    backup = str(tmp_path / "journal.gz")
    refused = job.play("playbooks/restore.yml", alluxio_restore=backup, alluxio_confirm="another")
    assert "readers lose their open files" in " ".join(refused.output.split())
    with late(job, "one") as file:
        assert [*digests("podman", "exec", here, "sha256sum", file).values()] == [file_digest("one")]
        done = drill(
            "the journal restored", lambda: succeed(job.play("playbooks/restore.yml", alluxio_restore=backup)), 900
        )
    assert {*done.restarted} == {*started(job)}
    with late(job, "two") as file:
        assert [*digests("podman", "exec", here, "sha256sum", file).values()] == [file_digest("two")]
    for name, pod in job.cluster.pods(NAME).items():
        component = pod["metadata"]["labels"][COMPONENT]
        if component in ("worker", "fuse-imagenet") and pod["spec"]["nodeName"] == here:
            told = job.cluster.kubectl(SPACE, "logs", name, "-c", component.partition("-")[0])
            assert "it was not cached from cluster" in told
    held = job.cluster.execute(NAME, f"{NAME}-master-0", "ls /journal", "master").split()
    assert len([name for name in held if name.startswith("journal-")]) == 1
    assert not [name for name in held if name.startswith("restor")]


def file_digest(word: str) -> str:
    """Of a file that came late."""
    return hashlib.sha256(word.encode() * 50_000).hexdigest()


@contextmanager
def late(job: Job, word: str) -> Iterator[str]:
    """A file that is at the source for a while; gives its path on a node."""
    bucket, _, folder = job.cluster.settings["lab_dataset"].removeprefix("s3://").partition("/")
    where = {"Bucket": bucket, "Key": f"{folder.rstrip('/')}/late/{word}"}
    owner = store_owner(job)
    owner.put_object(**where, Body=word.encode() * 50_000)
    try:
        yield f"/mnt/{NAME}/imagenet/data/late/{word}"
    finally:
        owner.delete_object(**where)


def lab_keys(job: Job) -> dict[str, str]:
    """The key of the dataset."""
    return {name: job.cluster.settings[f"lab_{name}"] for name in ("access_key", "secret_key")}


def store_owner(job: Job) -> Any:
    """A client that may write to the lab's store."""
    said = job.cluster.settings
    return ObjectStore(
        said["lab_s3_endpoint"],
        Path(said["lab_s3_ca_file"]),
        (said["lab_owner_access_key"], said["lab_owner_secret_key"]),
        **lab_keys(job),
        next_key=("", ""),
    ).client()


@contextmanager
def revoked(job: Job, access_key: str) -> Iterator[None]:
    """The lab's store without a key."""
    folder, store = Path(job.cluster.settings["lab_s3_ca_file"]).parent, job.cluster.settings["lab_store"]
    config = folder / "s3.json"
    known = config.read_text()
    try:
        forget(folder, access_key)
        job.podman("restart", store)
        yield
    finally:
        config.write_text(known)
        job.podman("restart", store)


@contextmanager
def no_store(job: Job, code: int | None) -> Iterator[None]:
    """The lab's store away, or a server at its address that answers everything with a code."""
    said = job.cluster.settings
    store, folder, place = said["lab_store"], Path(said["lab_s3_ca_file"]).parent, urlsplit(said["lab_s3_endpoint"])
    other = f"{store}-refusing"
    image = job.podman("inspect", "--format", "{{.ImageName}}", job.cluster.gpu_nodes()[0]).strip()
    names = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}"
    network = job.podman("inspect", "--format", names, store).strip()
    how = ["--runtime=runc", "--ulimit=nofile=16384:16384", "--ulimit=nproc=10000:10000", f"--network={network}"]
    files = [f"--volume={folder}:{folder}:ro", f"--volume={REFUSING}:/refusing.py:ro"]
    command = ["timeout", "120", "python3", "/refusing.py", place.hostname, str(place.port), str(code), str(folder)]
    job.podman("stop", store)
    try:
        if code:
            job.podman("run", "--detach", f"--name={other}", f"--ip={place.hostname}", *how, *files, image, *command)
        yield
    finally:
        job.podman("rm", "--force", "--time=0", "--ignore", other)
        job.podman("start", store)

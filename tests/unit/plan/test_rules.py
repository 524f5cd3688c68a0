"""The rules one by one: amounts from the figures that they name."""

from dataclasses import replace

import pytest

from alluxio_fuse.plan.facts import Trained
from alluxio_fuse.plan.gpus import NEEDS, gpu_model, measured_as
from alluxio_fuse.plan.reading import trained_needs
from alluxio_fuse.plan.rules import caches, fuse, gate, jvm, memory, understore
from alluxio_fuse.plan.units import GIB, KIB, MIB

LOAD = jvm.Load(files=1_000_000, blocks=100_000, nodes=10, clients=4)


def test_a_value_knows_its_rule_and_source() -> None:
    value = memory.memory_total(8 * GIB, None)
    assert (value.rule, value.source) == ("memory_total", "facts of the node")
    assert value.overridden is None


def test_a_cgroup_limit_is_the_memory() -> None:
    assert memory.memory_total(8 * GIB, 2 * GIB).amount == 2 * GIB
    assert memory.memory_total(8 * GIB, 16 * GIB).amount == 8 * GIB


@pytest.mark.parametrize(("total", "reserve"), [(4, 384 * MIB), (100, 6 * GIB), (1000, 8 * GIB)])
def test_the_reserve_is_bounded(total: int, reserve: int) -> None:
    assert memory.memory_reserve(total * GIB).amount == reserve


def test_training_comes_first() -> None:
    assert memory.memory_workload(100, None, True).amount == 75
    assert memory.memory_workload(100, 10, True).amount == 10
    assert memory.memory_workload(100, None, False).amount == 0


def test_the_master_has_4_kib_for_each_file() -> None:
    more = jvm.Load(files=2_000_000, blocks=0, nodes=10, clients=4)
    grown = jvm.master_heap("full", more).amount - jvm.master_heap("full", LOAD).amount
    assert grown == pytest.approx(1_000_000 * 4 * KIB, abs=32 * MIB)


def test_the_worker_has_64_mib_for_each_client() -> None:
    assert jvm.worker_direct("full", LOAD).amount == 512 * MIB + 4 * 64 * MIB


def test_the_client_has_4_kib_for_each_path_and_half_for_each_page() -> None:
    base = jvm.fuse_heap("full", 0, 0).amount
    assert jvm.fuse_heap("full", 1_000_000, 0).amount - base == pytest.approx(4_096_000_000, abs=32 * MIB)
    assert jvm.fuse_heap("full", 0, 1_000_000).amount - base == pytest.approx(512_000_000, abs=32 * MIB)


@pytest.mark.parametrize("java", [8, 11, 17, 21, 25])
def test_flags_fit_the_jdk(java: int) -> None:
    flags = jvm.jvm_flags(GIB, GIB, java, 4).amount
    assert ("-verbose:gc" in flags) == (java == 8)
    removed = ("PrintGCDateStamps", "PrintGCTimeStamps", "UseCGroupMemoryLimitForHeap", "ConcMarkSweep")
    assert not [flag for flag in flags for name in removed if name in flag]


@pytest.mark.parametrize(("cpus", "collector"), [(1, "-XX:+UseSerialGC"), (2, "-XX:+UseG1GC"), (64, "-XX:+UseG1GC")])
def test_the_collector_is_always_named(cpus: int, collector: str) -> None:
    assert collector in jvm.jvm_flags(GIB, GIB, 17, cpus).amount


def test_training_keeps_its_cpus() -> None:
    assert jvm.active_cpus(96, 72).amount == 24
    assert jvm.active_cpus(2, 2).amount == 1


@pytest.mark.parametrize("within", [4, 5, 7, 40, 600, 86_399])
def test_the_layers_never_exceed_the_declared_freshness(within: int) -> None:
    layers = fuse.freshness_layers(within)
    assert layers.sync + layers.metadata + layers.kernel <= within
    assert min(layers.sync, layers.metadata, layers.kernel) >= 1


def test_immutable_data_is_kept() -> None:
    options = fuse.mount_options(2, False, None, 7200).amount
    assert {"ro", "kernel_cache", "attr_timeout=7200", "entry_timeout=7200"} <= set(options)


@pytest.mark.parametrize(("writable", "within"), [(False, 600), (True, 600), (True, None)])
def test_other_data_is_asked_for_again(writable: bool, within: int | None) -> None:
    options = fuse.mount_options(3, writable, within, 2).amount
    assert "kernel_cache" not in options
    assert "auto_cache" in options
    assert ("ro" in options) == (not writable)


def test_reads_in_order_where_the_libfuse_can() -> None:
    assert "sync_read" in fuse.mount_options(2, False, None, 1, in_order=True).amount
    assert "sync_read" not in fuse.mount_options(2, False, None, 1, in_order=False).amount
    assert "sync_read" not in fuse.mount_options(3, False, None, 1, in_order=True).amount


def test_what_is_read_ahead_lies_within_a_page_of_the_client_cache() -> None:
    assert fuse.read_ahead(False, True).amount * 1024 * 2 <= caches.PAGE


def test_each_libfuse_gets_its_own_options() -> None:
    second, third = (" ".join(fuse.mount_options(version, False, None, 1).amount) for version in (2, 3))
    assert "max_read" in second
    assert "max_idle_threads" not in second
    assert "max_idle_threads" in third
    assert not {"max_read", "big_writes", "nonempty", "direct_io"} & set(third.replace("=", " ").split())


@pytest.mark.parametrize(
    ("declared", "there", "upstream", "long_reads", "version"),
    [
        (None, {2, 3}, False, False, 2),
        (None, {2, 3}, False, True, 3),
        (None, {2}, False, True, 2),
        (None, {3}, False, False, 3),
        (3, {2, 3}, False, False, 3),
        (2, {2, 3}, False, True, 2),
        (None, {2, 3}, True, True, 2),
    ],
)
def test_libfuse_is_chosen(
    declared: int | None, there: set[int], upstream: bool, long_reads: bool, version: int
) -> None:
    chosen = fuse.libfuse_version(declared, frozenset(there), upstream, long_reads=long_reads)
    assert chosen.amount == version


def test_as_many_threads_as_the_image_knows_to_say() -> None:
    assert "max_threads=64" in fuse.mount_options(3, False, None, 1, of_image=True).amount
    assert "max_threads=64" not in fuse.mount_options(3, False, None, 1).amount
    assert "max_threads=64" not in fuse.mount_options(2, False, None, 1, of_image=True).amount


def test_a_page_store_holds_the_set_that_it_was_sized_for() -> None:
    for size in (1, 10**6, 10**9, 10**12):
        assert caches.client_cache_share(caches.client_cache_need(size), size) == 1
        assert caches.client_cache_share(caches.client_cache_need(size) // 2, size) < 1


def test_workers_together_hold_the_set() -> None:
    for workers in (1, 4, 1000):
        assert caches.tier_need(10**12, 1000, workers) * workers * caches.HIGH >= 10**12


@pytest.mark.parametrize(
    ("name", "model"),
    [("NVIDIA H100 80GB HBM3", "H100"), ("Tesla V100-SXM2-16GB", "V100"), ("NVIDIA A100-SXM4-80GB", "A100"),
     ("NVIDIA GB200", "GB200"), ("Tesla T4", "Tesla T4"), ("h200", "H200")],
)  # fmt: skip
def test_gpu_names(name: str, model: str) -> None:
    assert gpu_model(name) == model


def test_the_published_gates() -> None:
    eight = gate.node_gate((("H100", 8),), "resnet50", 1.0, None)
    assert eight.files_per_s == pytest.approx(12_857, abs=1)
    assert eight.mb_per_s == pytest.approx(8 * 184.3, abs=1)
    assert gate.node_gate((("H100", 8),), "unet3d", 0.0, None).mb_per_s == pytest.approx(22_875, abs=1)


def test_large_files_have_no_gate_in_files() -> None:
    assert gate.node_gate((("V100", 8),), "resnet50", 0.0, None).files_per_s is None


def test_no_public_figure_means_a_stand_in_or_a_gap() -> None:
    assert gate.node_gate((("H200", 1),), "unet3d", 0.0, None).stand_ins == ("H200 counted as H100",)
    mixed = gate.node_gate((("H100", 1), ("T4", 1)), "resnet50", 1.0, None)
    assert (mixed.status, mixed.mb_per_s, mixed.gaps) == ("unknown", None, ("T4 on resnet50",))


@pytest.mark.parametrize(
    ("model", "workload", "measured"),
    [("GB300", "unet3d", "B200"), ("B300", "resnet50", "H100"), ("B200", "unet3d", "B200"), ("T4", "unet3d", "T4")],
)
def test_a_stand_in_is_the_nearest_model_with_a_figure(model: str, workload: str, measured: str) -> None:
    assert measured_as(model, workload) == measured


@pytest.mark.parametrize(
    ("model", "workload", "samples_per_s", "mb_per_s"),
    [
        ("B200", "unet3d", 43.2, 6335),
        ("H100", "unet3d", 21.7, 3177),
        ("B200", "retinanet", 504.7, 163.0),
        ("H100", "resnet50", 1785.7, 204.8),
        ("V100", "resnet50", 1166, 133.7),
        ("A100", "cosmoflow", 181.5, 513),
        ("V100", "cosmoflow", 106.8, 302.2),
    ],
)
def test_a_need_is_batch_over_time_times_the_size_of_a_sample(
    model: str, workload: str, samples_per_s: float, mb_per_s: float
) -> None:
    """As others have worked it out of the public configurations."""
    need = NEEDS[model, workload]
    assert need.samples_per_s == pytest.approx(samples_per_s, rel=0.002)
    assert need.mb_per_s == pytest.approx(mb_per_s, rel=0.002)


def test_a_measured_need_of_a_gpu_stands_in_for_a_public_figure() -> None:
    t4 = gate.GpuNeed("T4", 40.0, 350.0)
    found = gate.node_gate((("T4", 4), ("A100", 1)), "resnet50", 1.0, None, (t4,))
    assert (found.status, found.gaps, found.measured) == ("derived", (), ("T4",))
    assert found.mb_per_s == pytest.approx(4 * 40 + 105.4 * 0.9, abs=0.1)
    assert found.files_per_s == pytest.approx(4 * 350 + 919.5 * 0.9, abs=0.1)
    assert gate.node_gate((("T4", 1),), "resnet50", 1.0, None, (gate.GpuNeed("T4", 40.0, None),)).files_per_s is None
    assert "T4 as alluxio_gpus says" in gate.gate(found, (("T4", 4), ("A100", 1)), "resnet50").why


def test_what_a_training_measured_counts_before_the_figure_of_another_model() -> None:
    h200 = gate.TrainedNeed("H200", "resnet50", 2740.6, 114_660, "node1 at 2026-11-26T04:10:38Z")
    found = gate.node_gate((("H200", 8),), "resnet50", 1.0, None, trained=(h200,))
    assert (found.mb_per_s, found.files_per_s, found.stand_ins) == (2262.5, 19732.3, ())
    told = gate.gate(found, (("H200", 8),), "resnet50")
    assert "8 x H200 on resnet50, H200 as trained on node1 at 2026-11-26T04:10:38Z, times" in told.why
    assert told.amount.training is None
    for gpus, workload in (((("H100", 8),), "resnet50"), ((("H200", 8),), "unet3d")):
        public = gate.node_gate(gpus, workload, 1.0, None)
        assert gate.node_gate(gpus, workload, 1.0, None, trained=(h200,)) == public
    small_batch = replace(h200, samples_per_s=1700)  # less than the H100 that stands in
    found = gate.node_gate((("H200", 8),), "resnet50", 1.0, None, trained=(small_batch,))
    assert (found.stand_ins, found.trained) == (("H200 counted as H100",), ())
    said = gate.GpuNeed("H200", 250.0, 2000.0)
    assert gate.node_gate((("H200", 1),), "resnet50", 1.0, None, (said,), trained=(h200,)).mb_per_s == 250.0


def test_all_nodes_are_held_to_the_highest_need_that_a_training_measured() -> None:
    def node(images_per_s: float) -> dict[str, Trained]:
        return {"resnet50": Trained(gpu="Tesla T4", images_per_s=images_per_s, image_bytes=1e5, at="now")}

    (need,) = trained_needs({"a": node(300), "b": node(310), "c": node(290)})
    assert (need.model, need.samples_per_s, need.where) == (gpu_model("Tesla T4"), 310, "b at now")


@pytest.mark.parametrize(("gpus", "workload"), [((), "resnet50"), ((("H100", 8),), "none")])
def test_nothing_to_feed_means_no_gate(gpus: tuple[tuple[str, int], ...], workload: str) -> None:
    assert gate.node_gate(gpus, workload, 1.0, None).status.startswith("none")


def test_language_models_have_no_gate_but_one_that_is_said() -> None:
    eight = (("H100", 8),)
    found = gate.node_gate(eight, gate.TOKENS, 0.0, None)
    assert (found.status, found.mb_per_s, found.gaps) == (gate.UNSAID, None, ())
    told = gate.gate(found, eight, gate.TOKENS)
    assert (told.amount.training, "declare alluxio_gate" in told.why) == (None, True)
    said = gate.node_gate(eight, gate.TOKENS, 0.0, None, (gate.GpuNeed("H100", 50.0, None),))
    assert (said.status, said.mb_per_s) == ("derived", 400.0)
    mixed = gate.node_gate((("H100", 4), ("T4", 4)), gate.TOKENS, 0.0, None, (gate.GpuNeed("H100", 50.0, None),))
    assert (mixed.status, mixed.gaps) == ("unknown", ("T4 on tokens",))
    assert gate.node_gate(eight, gate.TOKENS, 0.0, (300.0, None)).status == "declared"


def test_the_under_store_is_read_once() -> None:
    cost = understore.under_store_cost(4000, 4000, 4000 * 114_660, 1.0).amount
    assert cost["first_epoch"] == {"gets": 4000, "lists": 4, "bytes": 4000 * 114_660}
    assert cost["joining_node"]["bytes"] == 0
    assert understore.under_store_cost(1000, 1000, 10**9, 0.25).amount["joining_node"]["bytes"] == 750_000_000


@pytest.mark.parametrize(("client", "worker"), [(0.0, 0.0), (1.0, 1.0), (0.3, 0.5), (0.6, 1.0)])
def test_each_byte_is_served_by_one_level(client: float, worker: float) -> None:
    assert sum(understore.served_from(client, worker).amount.values()) == pytest.approx(1)

"""What the chart says where its values do not: the planner's own rules, without facts of nodes and datasets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, Final

from alluxio_fuse.chart.reserved import is_reserved
from alluxio_fuse.plan.reading import DEFAULT_WITHIN
from alluxio_fuse.plan.rules import caches, fuse, jvm, properties
from alluxio_fuse.plan.rules.ports import PORTS
from alluxio_fuse.plan.rules.stage import PER_FILE
from alluxio_fuse.plan.sources import UNSIGNED

#: Amounts that follow from the size of a fleet: the chart does not know it, and leaves them to Alluxio.
OF_THE_FLEET: Final = {"rpc_threads", "job_threads", "load_batch"}
#: Metadata entries of a dataset, whose files the chart cannot count: a fifth of the heap that it gives to FUSE.
ENTRIES: Final = 50_000
#: Numbers in the place of a promise's seconds, which the chart puts in.
LAYERS: Final = fuse.Freshness(bound=990_000, sync=990_001, metadata=990_002, kernel=990_003)

Case = dict[str, Any]


def planned() -> dict[str, Any]:
    """The chart's constants.

    Properties are a list of {when: conditions, set: properties} for each component: those of a release whose
    conditions all hold. Mount options are a list for each set of conditions.
    """
    return {
        "freshness": {"parts": fuse.FRESHNESS_PARTS, "writable": DEFAULT_WITHIN},
        "watermarks": {"high": caches.HIGH, "low": caches.LOW},
        "jvm": {
            "flags": list(jvm.FLAGS),
            "gcLog": [{"from": java, "flag": flag} for java, flag in sorted(jvm.GC_LOG.items())],
        },
        "unsigned": UNSIGNED,
        "stage": {"perFile": PER_FILE},
        "environment": {str(libfuse): fuse.environment(libfuse, upstream=False).amount for libfuse in (2, 3)},
        "mountOptions": dict(_mount_options()),
        "properties": {
            component: [{**case, "set": _mine(case["set"])} for case in cases] for component, cases in _cases().items()
        },
    }


def _mount_options() -> Iterator[tuple[str, list[str]]]:
    """Options by libfuse, freshness, what answers reads, and whose image it is."""
    kernel = {"immutable": fuse.freshness_layers(None).kernel, "within": LAYERS.kernel, "writable": LAYERS.kernel}
    images = {"project": True, "official": False}
    served = {"clientCache": False, "workers": True}
    for libfuse, kind, by, image in product((2, 3), kernel, served, images):
        made = fuse.mount_options(
            libfuse,
            writable=kind == "writable",
            within=None if kind == "immutable" else LAYERS.bound,
            kernel=kernel[kind],
            in_order=served[by],
            of_image=images[image],
        )
        yield f"libfuse{libfuse} {kind} {by} {image}", [_with_places(option) for option in made.amount]


def _cases() -> dict[str, list[Case]]:
    one, three = _cluster(("a",)), _cluster(("a", "b", "c"))
    quorum = properties.master(three, "", "")
    return {
        "master": [_case(quorum), _case(_beyond(properties.master(one, "", ""), quorum), "oneMaster")],
        "job-master": [_case(properties.job_master(three, "", ""))],
        "worker": [_case(properties.worker(one, "", "", ()))],
        "job-worker": [_case(properties.job_worker(one, "", "", 1))],
        "fuse": _fuse_cases(one),
        "mounts": [],
    }


def _cluster(masters: tuple[str, ...]) -> properties.Cluster:
    return properties.Cluster(
        masters=masters, offset_ports=PORTS, state_dir="", upstream=False, clients=0, object_store=True
    )


def _fuse_cases(cluster: properties.Cluster) -> list[Case]:
    immutable = properties.Client(
        writable=False,
        freshness=fuse.freshness_layers(None),
        cache_path=None,
        cache_size=0,
        entries=ENTRIES,
        libfuse=3,
        web_port=None,
        many_workers=True,
        through_cluster=True,
        handed_keys=False,
        source={},
    )

    def made(**differs: Any) -> properties.Properties:
        return properties.fuse(cluster, replace(immutable, **differs))

    plain, within = made(), made(freshness=LAYERS)
    always = {key: value for key, value in plain.items() if key in within and within[key].amount == value.amount}
    cached = _beyond(made(cache_path="/"), plain)
    return [
        _case(always),
        _case(_beyond(plain, always), "immutable"),
        _case(_beyond(within, always), "within"),
        _case(cached, "clientCache"),
        _case(_beyond(made(cache_path="/", freshness=LAYERS), within | cached), "clientCache", "within"),
        _case(_beyond(made(handed_keys=True), plain), "credentials", "immutable"),
        _case(_beyond(made(handed_keys=True), plain), "staged"),
        _case(_beyond(made(writable=True), plain), "writable"),
    ]


def _case(made: properties.Properties, *when: str) -> Case:
    return {"when": list(when), "set": made}


def _beyond(made: properties.Properties, known: properties.Properties) -> properties.Properties:
    return {key: value for key, value in made.items() if key not in known or known[key].amount != value.amount}


def _mine(made: properties.Properties) -> dict[str, str]:
    """Without what the chart derives from where its pods are, and without what follows from the size of a fleet."""
    return {
        key: _with_places(value.amount)
        for key, value in sorted(made.items())
        if value.rule not in OF_THE_FLEET and not is_reserved(key)
    }


def _with_places(text: str) -> str:
    """The text with `{sync}`, `{metadata}` and `{kernel}` in the place of `LAYERS`."""
    layers = {str(LAYERS.sync): "{sync}", str(LAYERS.metadata): "{metadata}", str(LAYERS.kernel): "{kernel}"}
    return re.sub("|".join(layers), lambda match: layers[match[0]], text)

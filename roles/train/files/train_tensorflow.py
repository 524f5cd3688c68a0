"""ImageNet's usual training with TensorFlow: TFRecord shards, tf.data with threads of its own, SGD; mixed precision.

tf.data's own reader reads each shard once, compares the checksums of its records, and hands records out. What it hands
out is put into frames again and hashed: that is the shard's digest if, and only if, these records are the shard.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from harness import Epoch, Harness, Orders, asked, named, order, seed_of
from tfrecord import frame

MEAN, SPREAD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]  # of ImageNet's channels
MADE_UP_BATCHES = 4
AHEAD = 2  # batches that are ready before training asks for them
WARMING_STEPS = 3
RAMP_STEPS = 500  # in which the learning rate rises to its full height: from the first step on, losses would explode
FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
}


class Read:
    """What came of one shard until now."""

    def __init__(self, digest: Any) -> None:
        self.digest, self.size, self.records = digest, 0, 0


class Proven:
    """An epoch's images from shards in a seeded order, and the digest of every shard that they were read from."""

    def __init__(self, orders: Orders, epoch: int) -> None:
        self._orders, self._epoch = orders, epoch
        self._root = os.fsencode(f"{orders.root}/")
        paths = [orders.files[number] for number in order(len(orders.files), orders.seed, epoch)]
        self._read = {path: Read(orders.hash_of(path)) for path in paths}
        self._before = asked()

    def batches(self) -> Any:
        """tf.data's pipeline: as many shards are read at once as there are loaders, which are its threads."""
        loaders = self._orders.loaders
        at_once = min(loaders, len(self._read))
        options = tf.data.Options()
        options.threading.private_threadpool_size = loaders
        options.deterministic = True
        return (
            tf.data.Dataset.from_tensor_slices(list(map(os.fsencode, self._read)))
            .interleave(self._records, cycle_length=at_once, num_parallel_calls=at_once)
            .map(self._image, num_parallel_calls=loaders)
            .batch(self._orders.batch)
            .prefetch(AHEAD)
            .with_options(options)
        )

    def tell(self, epoch: Epoch) -> None:
        """Count every shard. One that tf.data has not read to its end, since it gave up, is read again, and whole."""
        calls, storage_bytes = asked()
        calls, storage_bytes = calls - self._before[0], storage_bytes - self._before[1]
        for path, found in self._read.items():
            digest, size = named(found.digest), found.size
            if size != Path(f"{self._orders.root}/{path}").stat().st_size:
                sample = self._orders.read(path)
                digest, size = sample.digest, len(sample.data)
            epoch.saw(path, digest, size, calls, storage_bytes)
            calls = storage_bytes = 0

    def _records(self, path: Any) -> Any:
        """The records of a shard."""
        return tf.data.TFRecordDataset(self._root + path).map(
            lambda record: (tf.numpy_function(self._hash, [path, record], tf.int64), record)
        )

    def _hash(self, path: bytes, record: bytes) -> np.int64:
        """Hash a record, the next one of its shard; the seed of what is drawn for it."""
        name = os.fsdecode(path)
        found, framed = self._read[name], frame(record)
        found.digest.update(framed)
        found.size, found.records = found.size + len(framed), found.records + 1
        return np.int64(seed_of(self._orders.seed, self._epoch, f"{name}#{found.records}"))

    def _image(self, seed: Any, record: Any) -> tuple[Any, Any]:
        """A random crop of the record's image, and its label."""
        found = tf.io.parse_single_example(record, FEATURES)
        encoded, label = found["image/encoded"], found["image/class/label"]
        classes = len(self._orders.classes)
        small = f"alluxio_train.classes: {classes}: a label in these shards is not below it; write more"
        known = tf.debugging.assert_less(label, np.int64(classes), small)
        begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(encoded),
            tf.zeros([1, 0, 4]),
            tf.stack([seed, 0]),
            min_object_covered=0.0,
            area_range=(0.08, 1.0),
            use_image_if_no_bounding_boxes=True,
        )
        with tf.control_dependencies([known]):
            crop = tf.io.decode_and_crop_jpeg(encoded, tf.concat([begin[:2], size[:2]], 0), channels=3)
        image = tf.image.resize(crop, [self._orders.size, self._orders.size])
        image = tf.image.stateless_random_flip_left_right(image, tf.stack([seed, 1]))
        return (image - MEAN) / SPREAD, label


def network(orders: Orders) -> Any:
    """One of Keras' models, or `tiny`, by which tests on processors see that everything works."""
    tf.keras.utils.set_random_seed(orders.seed)
    classes, shape, layers = len(orders.classes), (orders.size, orders.size, 3), tf.keras.layers
    if orders.model != "tiny":
        known = {name.lower(): name for name in dir(tf.keras.applications) if name != name.lower()}
        if not (name := known.get(orders.model.replace("_", ""))):
            sys.exit(f"Keras has no model {orders.model}")
        make = getattr(tf.keras.applications, name)
        return make(weights=None, classes=classes, input_shape=shape, classifier_activation=None)
    first = [layers.Conv2D(8, 7, strides=4), layers.BatchNormalization(), layers.ReLU()]
    return tf.keras.Sequential([layers.Input(shape), *first, layers.GlobalAveragePooling2D(), layers.Dense(classes)])


class Trainer:
    """A model with what trains it."""

    def __init__(self, orders: Orders) -> None:
        if orders.gpus:
            tf.keras.mixed_precision.set_global_policy("mixed_float16")
        self._rate, self._steps = 0.1 * orders.batch / 256, 0
        self._model = network(orders)
        self._optimizer = tf.keras.optimizers.SGD(self._rate, momentum=0.9)
        if orders.gpus:
            self._optimizer = tf.keras.mixed_precision.LossScaleOptimizer(self._optimizer)
        self._optimizer.build(self._model.trainable_variables)
        images = tf.TensorSpec([None, orders.size, orders.size, 3], tf.float32)
        self._train = tf.function(self._one, input_signature=[images, tf.TensorSpec([None], tf.int64)])

    def warm_up(self, orders: Orders) -> None:
        """Train a little and forget it, so that the first epoch is timed with kernels loaded and chosen."""
        kept = [(one, one.numpy()) for one in (*self._model.variables, *self._optimizer.variables)]
        batch = tf.zeros([orders.batch, orders.size, orders.size, 3]), tf.zeros([orders.batch], tf.int64)
        for _ in range(WARMING_STEPS):
            self.step(*batch)
        for one, value in kept:
            one.assign(value)
        self._steps = 0

    def step(self, images: Any, labels: Any) -> tuple[float, int, int, int]:
        """Train on one batch: its loss, images, and how many had their class first, or among the first five."""
        self._steps += 1
        self._optimizer.learning_rate = self._rate * min(1.0, self._steps / RAMP_STEPS)
        loss, top1, top5 = self._train(images, labels)
        return float(loss), len(labels), int(top1), int(top5)

    def _one(self, images: Any, labels: Any) -> tuple[Any, Any, Any]:
        with tf.GradientTape() as tape:
            answers = tf.cast(self._model(images, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, answers))
            scaled = self._optimizer.scale_loss(loss)
        weights = self._model.trainable_variables
        self._optimizer.apply(tape.gradient(scaled, weights), weights)
        top = [tf.reduce_sum(tf.cast(tf.math.in_top_k(labels, answers, k), tf.int32)) for k in (1, 5)]
        return loss, *top


def batches(orders: Orders) -> list[tuple[Any, Any]]:
    """Made-up batches: what the processors or GPUs can do at best costs no reading."""
    drawn = np.random.default_rng(orders.seed)
    shape = (orders.batch, orders.size, orders.size, 3)
    labels = tf.constant(drawn.integers(len(orders.classes), size=orders.batch))
    return [(tf.constant(drawn.standard_normal(shape, dtype="float32")), labels) for _ in range(MADE_UP_BATCHES)]


def made_up(kept: list[tuple[Any, Any]], orders: Orders) -> Any:
    """An epoch of these batches, again and again."""
    for step, begin in enumerate(range(0, orders.images, orders.batch)):
        images, labels = kept[step % MADE_UP_BATCHES]
        count = min(orders.batch, orders.images - begin)
        yield images[:count], labels[:count]


def main() -> None:
    """Train as ordered."""
    harness = Harness()
    orders = harness.orders
    gpus = tf.config.list_physical_devices("GPU")
    if orders.gpus > 1:
        sys.exit("this program trains on one GPU")
    if orders.gpus and not gpus:
        sys.exit("a GPU is ordered, and tensorflow sees none")
    tf.config.set_visible_devices(gpus[: orders.gpus], "GPU")
    gpu = tf.config.experimental.get_device_details(gpus[0])["device_name"] if orders.gpus else None
    trainer = Trainer(orders)
    trainer.warm_up(orders)
    harness.ready(framework=f"tensorflow {tf.__version__}", device=gpu or "cpu")
    kept = [] if orders.root else batches(orders)
    harness.tell("listed", images=0 if orders.root else orders.images, seconds=0.0)
    failed = ""
    for epoch in harness.epochs():
        if failed:
            break
        found = Proven(orders, epoch.number) if orders.root else None
        try:
            for images, labels in epoch.batches(found.batches() if found else made_up(kept, orders)):
                epoch.step(*trainer.step(images, labels))
        except tf.errors.OpError as error:
            failed = f"tf.data gave up: {error.message.split('}} ')[-1].splitlines()[0]}"
        if found:
            found.tell(epoch)
    if failed:
        sys.exit(failed)


if __name__ == "__main__":
    main()

"""The program of docs/train.md: it reads, tells what it read, and trains nothing."""

from harness import Harness, order

harness = Harness()
orders = harness.orders  # root, files, classes, batch, loaders, gpus, seed, …; root is None on `synthetic`
harness.ready(framework="none", device="cpu")  # everything is loaded; returns when training is to begin
files = orders.files if orders.root else []
harness.tell("listed", images=len(files) or orders.images, seconds=0.0)
for epoch in harness.epochs():
    numbers = order(len(files) or orders.images, orders.seed, epoch.number)
    batches = [numbers[begin : begin + orders.batch] for begin in range(0, len(numbers), orders.batch)]
    for batch in epoch.batches(batches):
        for number in batch if files else ():
            sample = orders.read(files[number])
            epoch.saw(files[number], sample.digest, len(sample.data), sample.calls, sample.storage_bytes)
        epoch.step(loss=0.0, images=len(batch), top1=0, top5=0)

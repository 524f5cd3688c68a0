"""An image with PyTorch, and a training that is small enough for the lab."""

IMAGE = "localhost/alluxio-fuse-test-torchrun:bookworm"
TINY = {"image": IMAGE, "model": "tiny", "size": 64, "batch": 32, "mark": 5, "loaders": 1, "rounds": 1, "images": 300}

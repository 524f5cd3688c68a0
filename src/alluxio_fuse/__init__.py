"""The controller's logic of alluxio-fuse: plan, verdict and report."""

__version__ = "0.3.0"

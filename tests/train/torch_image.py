"""The image that trainings of the tests run in."""

IMAGE = "localhost/alluxio-fuse-test-torch:bookworm"

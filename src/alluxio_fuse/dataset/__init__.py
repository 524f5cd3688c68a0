"""The generated sample: an ImageNet-shaped dataset for machines that have none."""

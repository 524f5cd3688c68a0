"""Training runs on the paths of a dataset: what is run, what it proves, and what it comes to."""

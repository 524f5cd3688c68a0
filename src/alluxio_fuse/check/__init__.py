"""The read check: which passes are run, what their evidence proves, and the verdict."""

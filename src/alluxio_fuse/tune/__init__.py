"""Tuning by trial: which settings of a mount are tried, how they are compared, and when one is kept."""

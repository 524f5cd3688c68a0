"""The report of a check as one self-contained page."""

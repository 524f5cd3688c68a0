"""Tests of the read check."""

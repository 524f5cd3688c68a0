"""What somebody else needs to see of a deployment that does not serve, without its secrets."""

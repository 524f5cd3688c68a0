"""What a plan must keep, by what is looked at: each check says its problems, and changes nothing."""

"""What serves, what does not, and the first thing to look at."""

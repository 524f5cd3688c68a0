"""Small named rules: plain arguments in, one Value out, no I/O."""

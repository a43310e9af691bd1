"""Working memory: what a long task must not lose."""

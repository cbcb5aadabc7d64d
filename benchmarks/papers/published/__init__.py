"""Studies of published bandit figures, one module for each source, with statements on what agrees."""

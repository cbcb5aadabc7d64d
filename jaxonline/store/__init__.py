"""Storage of studies on disk: files, checkpoints, and fingerprints of the inputs that decide the numbers."""

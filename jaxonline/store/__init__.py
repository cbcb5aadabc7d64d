"""Storage of studies on disk: file systems, arrays, blocks, checkpoints, and fingerprints of inputs."""

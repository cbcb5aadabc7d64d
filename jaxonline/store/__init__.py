"""Everything on disk: file systems, arrays, blocks, checkpoints, fingerprints."""

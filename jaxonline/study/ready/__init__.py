"""Ready studies: one file each."""

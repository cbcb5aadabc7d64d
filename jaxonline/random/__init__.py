"""Random numbers inside compiled programs."""

"""Changes of a study's folder."""

import json
from pathlib import Path

from jaxonline.store.checkpoints import seal_document

CONFIGURATION = "configuration.json"


def configure(folder: Path, changes: dict) -> None:
    """Change entries of the configuration."""
    path = folder / CONFIGURATION
    about = json.loads(path.read_text()) if path.exists() else {}
    about.pop("sha256", None)
    path.write_bytes(seal_document(about | changes))

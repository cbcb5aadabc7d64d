"""Changes of a study's folder, with the digests of the changed files."""

import json
from pathlib import Path

from jaxonline.store.checksums import write_checksums
from jaxonline.store.documents import DIGEST, NO_DIGEST, seal

CONFIGURATION = "configuration.json"


def configure(folder: Path, changes: dict, *files: str) -> None:
    """Change entries of the configuration, and write the digests of the configuration and of other files."""
    path = folder / CONFIGURATION
    about = json.loads(path.read_text()) if path.exists() else {}
    path.write_bytes(seal(json.dumps(about | changes | {DIGEST: NO_DIGEST}).encode()))
    write_checksums(folder, [path, *(folder / name for name in files)])

"""Real data sets: a catalogue of named sets, fetched once or read from local files."""

from jaxonline.datasets.catalogue import DataSet, ar4, canonical_name, diabetes
from jaxonline.datasets.digits import mnist
from jaxonline.datasets.fetch import checksum
from jaxonline.datasets.loading import is_local, load

__all__ = ["DataSet", "ar4", "canonical_name", "checksum", "diabetes", "is_local", "load", "mnist"]

"""Real data sets: a catalogue of named sets, fetched once or read from local files."""

from jaxonline.datasets.catalogue import DataSet as DataSet
from jaxonline.datasets.catalogue import ar4 as ar4
from jaxonline.datasets.catalogue import canonical_name as canonical_name
from jaxonline.datasets.catalogue import diabetes as diabetes
from jaxonline.datasets.fetch import checksum as checksum
from jaxonline.datasets.loading import is_local as is_local
from jaxonline.datasets.loading import load as load
from jaxonline.datasets.loading import mnist as mnist

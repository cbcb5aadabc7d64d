"""Products in full precision on every device, and eager computations compiled as one program."""

from jaxonline._xla.compile_options import run_compiled as run_compiled
from jaxonline._xla.matmul_precision import exact_products as exact_products

"""Write docs/intervals.md, or only the named sections of it.

python -m benchmarks.intervals [section ...]
"""

import sys

from benchmarks.intervals.page import write_page

write_page(sys.argv[1:])

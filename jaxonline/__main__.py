"""`python -m jaxonline` is the command line."""

from jaxonline.cli import main

main()

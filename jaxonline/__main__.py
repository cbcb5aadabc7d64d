"""`python -m jaxonline` is the command line."""

from jaxonline.cli import main

if __name__ == "__main__":
    main()

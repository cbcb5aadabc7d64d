"""The command line, as `python -m jaxonline`."""

from jaxonline.cli import main

if __name__ == "__main__":
    main()

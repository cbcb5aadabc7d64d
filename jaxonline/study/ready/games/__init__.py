"""The classical games of online learning, one module each, run by `jaxonline play NAME`."""

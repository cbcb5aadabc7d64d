"""The classical games of online learning, one file each: `jaxonline play NAME`."""

"""Ready studies, each one command: what is measured, the table and the figure."""

"""What every room uses and no user needs: structs, checks, dtypes, ragged calls, threads."""

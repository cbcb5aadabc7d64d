"""The five papers: reproductions of their experiments, published figures, and claims with their checks."""

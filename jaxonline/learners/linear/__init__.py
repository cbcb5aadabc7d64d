"""Linear classifiers and the Vovk-Azoury-Warmuth forecaster."""

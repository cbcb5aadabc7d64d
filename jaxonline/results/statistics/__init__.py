"""Intervals, bands, rankings and estimates with less variance."""

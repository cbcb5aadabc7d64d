"""`make drills` ends with the counts of each module; many tests also print their own counts."""

from collections import Counter

OUTCOMES = ("passed", "failed", "error", "skipped")


def pytest_terminal_summary(terminalreporter):
    counts = Counter(
        (report.nodeid.partition("::")[0].rpartition("/")[2], outcome)
        for outcome in OUTCOMES
        for report in terminalreporter.stats.get(outcome, ())
    )
    terminalreporter.section("drills")
    for module in sorted({module for module, _ in counts}):
        numbers = (f"{counts[module, outcome]} {outcome}" for outcome in OUTCOMES if counts[module, outcome])
        terminalreporter.write_line(f"{module}: {', '.join(numbers)}")

"""Tables of measurements: a line for each workload, or for each of its sizes."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._timing import ratios
from benchmarks._workload import RESOURCES, share_of_limit
from benchmarks.figure import is_ours


def table(workloads: Sequence[Mapping[str, Any]], limits: Mapping[str, float]) -> str:
    """Compare this package with the best alternative of each workload."""
    lines = [
        ["workload", "a second", "best peer", "ours / best peer", "compilation", "memory", "of the machine's limit"]
    ]
    for one in workloads:
        rates, ours = one["rates"], one["ours"]
        mine = statistics.median(rates[ours])
        peers = [name for name in rates if not is_ours(name)]
        best = max(peers, key=lambda name: statistics.median(rates[name]), default=None)
        speedups = ratios(rates, ours, best) if best else []
        lines.append([
            one["title"], f"{mine:,.4g} {one['unit']}s", best or "",
            f"{statistics.median(speedups):.2f} ({min(speedups):.2f} .. {max(speedups):.2f})" if speedups else "",
            f"{one['compilation']:.1f} s" if "compilation" in one else "",
            f"{one['megabytes']:,.0f} MB" if "megabytes" in one else "", _share(mine, one["needs"], limits),
        ])  # fmt: skip
    return _in_columns(lines)


def table_of_sizes(workloads: Sequence[Mapping[str, Any]], limits: Mapping[str, float]) -> str:
    """Compare this package with the fastest alternative for many runs."""
    lines = [
        [
            "workload",
            "runs",
            "a block",
            "a second",
            "beside the fastest alternative",
            "first call",
            "of the machine's limit",
        ]
    ]
    for one, size in ((workload, size) for workload in workloads for size in workload["sizes"]):
        head = [one["title"], f"{size['runs']:,}", f"{size['width']:,}"]
        if "failed" in size:
            lines.append([*head, size["failed"][:60], "", "", ""])
            continue
        rates, ours = size["rates"], one["ours"]
        mine = statistics.median(rates[ours])
        ratio_by_name = {name: statistics.median(ratios(rates, ours, name)) for name in rates if name != ours}
        fastest = min(ratio_by_name, key=lambda name: ratio_by_name[name], default=None)
        beside = f"{ratio_by_name[fastest]:.2f} ({fastest})" if fastest else ""
        lines.append([
            *head, f"{mine:,.4g} {one['unit']}s", beside, f"{size['first']:.1f} s",
            _share(mine, one["needs"], limits),
        ])  # fmt: skip
    return _in_columns(lines)


def _share(rate: float, needs: Mapping[str, float], limits: Mapping[str, float]) -> str:
    share = share_of_limit(rate, needs, limits)
    return f"{share[0]:.0%} ({RESOURCES[share[1]]})" if share else ""


def _in_columns(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)

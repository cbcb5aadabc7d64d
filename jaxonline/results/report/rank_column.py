"""The column of a table that shows rank and letters in one game."""

from dataclasses import dataclass

from jaxonline.results.report.columns import Row, Text
from jaxonline.results.report.standings_figure import GAP


@dataclass(frozen=True)
class RankColumn(Text):
    """A column with rank and letters in the game `key`; "–" means not played, and an asterisk means excluded runs.

    Example:
        >>> column = RankColumn("easy")
        >>> column.show({"rank in easy": 2.0, "letters in easy": "ab", "left out in easy": 1})
        '2 ab*'
        >>> column.show({"rank in easy": None})
        '–'
    """

    def show(self, row: Row) -> str:
        """The cell."""
        rank = row[f"rank in {self.key}"]
        if rank is None:
            return GAP
        return format_rank(rank, row[f"letters in {self.key}"], row[f"left out in {self.key}"])


def format_rank(rank: float, letters: str, left_out: int) -> str:
    """Return the text of a cell: rank, letters, and an asterisk if runs were excluded."""
    return f"{rank:g} {letters}{'*' * (left_out > 0)}".replace(" *", "*")

"""Paired tests of all pairs of learners in several games, corrected for all of them together."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jaxonline.results.statistics import estimates, means
from jaxonline.results.statistics.intervals import ConfidenceInterval
from jaxonline.results.statistics.missing_events import MissingEvents, closest_decision, missing_events
from jaxonline.results.statistics.ranking import VALID


@dataclass(frozen=True, eq=False, repr=False)
class GameTests:
    """Tests of the results of several games after the last round; see `Standings`.

    Attributes:
        results: by game.
        quantities: the compared quantity of each game.
        level: probability that all statements "these two learners differ", in all games, are true together.
        intervals: by game, the interval whose paired tests are used; None as in `Result.ranking`.
    """

    results: Mapping[str, Any]
    quantities: Mapping[str, str]
    level: float
    intervals: Mapping[str, ConfidenceInterval | None]

    @cached_property
    def kinds(self) -> dict[str, ConfidenceInterval]:
        """The interval whose paired test compares learners in each game."""
        return {
            game: estimates.choose_test(result, self.quantities[game], self.intervals[game]).after(result.rounds[-1])
            for game, result in self.results.items()
        }

    @cached_property
    def p_values(self) -> dict[str, np.ndarray]:
        """P-values of all pairs [L, L] by game, corrected for all pairs and games."""
        matrices = means.joint_p_values(list(self._samples.values()), list(self.kinds.values()))
        return dict(zip(self.results, matrices, strict=True))

    @cached_property
    def missing(self) -> MissingEvents:
        """Events that the runs may have missed, and the closest decision of all games."""
        events = {}
        for game, values in self._samples.items():
            differences = means.paired_differences(values)
            learners = self.results[game].learners
            events[game] = missing_events(learners, differences, self.p_values[game], self.level)
        return closest_decision(events)

    @property
    def name(self) -> str:
        """The names of the tests."""
        return " or ".join(dict.fromkeys(kind.test for kind in self.kinds.values()))

    @property
    def reservation(self) -> str:
        """As in `Ranking.reservation`, with a remark if few runs decide."""
        if all(kind.holds_for_any_runs for kind in self.kinds.values()):
            return VALID
        few = f" Few runs decide: this cost is only {self.missing.ratio:.1f} times the typical difference."
        return f"{self.missing.sentence}{few if self.missing.is_fragile else ''}"

    @cached_property
    def _samples(self) -> dict[str, np.ndarray]:
        """The runs [L, R] after the last round."""
        return {game: estimates.costs(result, self.quantities[game]) for game, result in self.results.items()}

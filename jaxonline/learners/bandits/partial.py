"""Exponential weights with partial information: feedback graphs (EXP3.G), and partial monitoring (FeedExp3)."""

from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.feedback.partial import FeedbackGraph, PartialMonitoring
from jaxonline.game.roles import Draw, Feedback, Specs
from jaxonline.learners.bandits.exponential import draw_arm, mix_uniform
from jaxonline.learners.experts.combiners import EWA, RateOrCombiner
from jaxonline.learners.experts.weights import CombinerLearner
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Probability, PyTree, Rounds, Shape

# ---------------------------------------------------------------------------------------------------------------------
# Feedback graphs: EXP3.G of Alon, Cesa-Bianchi, Dekel and Koren (2015).


def _as_arms(value: Any, name: str) -> tuple[int, ...]:
    """Return a nonempty vector of arms as a tuple, which is hashable."""
    arms = tuple(int(check.whole_number(name, arm, ge=0)) for arm in check.finite_array(name, value, ndim=1))
    if not arms:
        raise ArgumentError(name, "must have at least one arm (got none)")
    return arms


@cites("alon2015online")
@struct
class EXP3G(CombinerLearner):
    """EXP3.G: exponential weights for feedback graphs, with exploration on a set of arms.

    The estimated loss of an arm is loss / P if the pulled arm shows it, where P is the probability that the pulled arm
    shows it, and 0 otherwise. With bandit feedback these are the estimates of `EXP3`, and with full information the
    losses. Instances are ignored. If the combiner's theorem assumes losses in [0, 1], losses known before the game must
    lie in [0, 1] (otherwise a ValueError).

    Args:
        combiner: the rate eta of exponential weights (EXP3.G itself), or another `Combiner`.
        exploration: gamma in p = (1 - gamma) weights + gamma u, where u is uniform on the explored arms.
        explored: arms of the exploration set, such as `FeedbackGraph.dominating_set`; None for all arms.

    Raises:
        ValueError: an explored arm does not exist; no arm shows the loss of some arm; the graph is weakly observable,
            and `exploration` is 0 or the explored arms do not show all of `FeedbackGraph.weak_arms`.

    Example:
        >>> import jaxonline as jo
        >>> revealing = [[1, 1, 1], [0, 0, 0], [0, 0, 0]]  # only the first arm shows losses
        >>> learner = jo.learners.EXP3G.over_horizon(revealing, n_rounds=1000)
        >>> learner.explored, round(learner.exploration, 4), round(learner.combiner.eta, 4)
        ((0,), 0.0819, 0.0134)
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0
    explored: Annotated[Any, Shape("m"), Convert(_as_arms)] | None = static(default=None)

    # Tuning, for losses in [0, 1] and K arms. Exponential weights q on estimates l satisfy, if l >= 0,
    #     sum <q, l> - sum l_k <= ln K / eta + (eta / 2) sum <q, l^2>,                        E <q, l^2> <= <q, 1 / P>,
    # and exploration adds gamma T. Let c cliques cover the arms that show themselves: <q, 1 / P> <= c / (1 - gamma) on
    # these arms, as P is at least (1 - gamma) times the weight of the clique.
    #  1. All arms show themselves. gamma = 0 and eta = sqrt(2 ln K / (c T)) give sqrt(2 c T ln K).
    #  2. All other arms show an arm i that does not show itself. P_i >= (1 - gamma) (1 - q_i) and, with uniform
    #     exploration, P_i >= gamma / k for k = K / (K - 1). If eta l_i <= 1 for these arms, their mean under q can be
    #     subtracted (as in the paper; exp(-z) <= 1 - z + (e - 2) z^2 for z >= -1), so that (e - 2) eta sum (sum of
    #     q_i (1 - q_i) l_i^2 over these arms, and of q_i l_i^2 over the others) replaces the last term: it is at most
    #     (e - 2) eta T (1 + c) / (1 - gamma). gamma = k eta <= 1/2, s = k + (e - 2) (1 + c) and
    #     eta = sqrt(ln K / (s T)) give 2 sqrt(s T ln K) + 2 k ln K, as 1 / (1 - gamma) <= 1 + 2 gamma.
    #  3. d explored arms show all arms that do not show themselves: P >= gamma / d, so the last term is at most
    #     (eta / 2) T (d / gamma + 2 c), as gamma <= 1/2. gamma = (d ln K / (2 T))^(1/3) and
    #     eta = sqrt(2 gamma ln K / (d T)) give 3 (d ln K / 2)^(1/3) T^(2/3) + c sqrt(2 gamma T ln K / d); the last term
    #     grows as T^(1/3).
    @classmethod
    @validate_arguments
    def over_horizon(cls, adjacency: Annotated[Any, Shape("K", "K")], n_rounds: Rounds) -> "EXP3G":
        """Set eta, gamma and the exploration set: the regret grows as T^(1/2) (strong graphs) or T^(2/3) (weak graphs).

        The constants are not those of the paper; a comment in the code derives them. For the identity they are those
        of `EXP3.over_horizon`. Raises a ValueError if no arm shows the loss of some arm.
        """
        graph = FeedbackGraph(adjacency)
        graph.check_observable()
        shows, explored, T = np.asarray(graph.adjacency) > 0, graph.dominating_set, n_rounds
        K, c, d, log_K = len(shows), _n_cliques(shows), len(explored), np.log(max(len(shows), 2))
        if not explored:
            return cls(EWA(float(np.sqrt(2.0 * log_K / (T * c))), K))
        if graph.observability == "strong":
            k = K / (K - 1)
            eta = min(0.5 / k, float(np.sqrt(log_K / ((k + (np.e - 2) * (1 + c)) * T))))
            return cls(EWA(eta, K), k * eta)
        gamma = min(0.5, float((d * log_K / (2 * T)) ** (1 / 3)))
        return cls(EWA(float(np.sqrt(2 * gamma * log_K / (d * T))), K), gamma, explored)

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise a ValueError if the graph is weakly observable, and exploration does not show all of its weak arms."""
        gamma = check.concrete_array(self.exploration)
        if gamma is None or not isinstance(feedback, FeedbackGraph) or check.concrete_array(feedback.adjacency) is None:
            return
        shows, weak = np.asarray(feedback.adjacency) > 0, feedback.weak_arms
        if feedback.observability == "weak" and (gamma == 0).any():
            raise ArgumentError("exploration", "must be above 0 for a weakly observable graph; use EXP3G.over_horizon")
        explored = range(len(shows)) if self.explored is None else [arm for arm in self.explored if arm < len(shows)]
        if feedback.observability == "weak" and not shows[explored][:, weak].any(axis=0).all():
            rule = f"must show the losses of the arms {weak}, as {feedback.dominating_set} for this graph"
            raise ArgumentError("explored", f"{rule} (got {self.explored})")

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """Draw an arm from (1 - gamma) weights + gamma u; raise a ValueError if an explored arm does not exist."""
        weights = self.weights(state)
        gamma, arms = jnp.asarray(self.exploration, weights.dtype), np.arange(len(weights))
        is_explored = np.isin(arms, arms if self.explored is None else self.explored)
        if self.explored is not None and max(self.explored) >= len(arms):
            raise ArgumentError("explored", f"must be arms, at most {arms[-1]} (got {max(self.explored)})")
        return draw_arm(key, (1.0 - gamma) * weights + jnp.where(is_explored, gamma / is_explored.sum().item(), 0.0))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass to the combiner the estimated losses, and the mean of the estimates as the loss of the move."""
        losses, p, graph = oracle.losses(), oracle.move.probabilities, oracle.adjacency
        # exactly 1 if all arms show it
        shown = jnp.where(jnp.all(graph > 0, axis=0), 1.0, jnp.minimum(p @ graph, 1.0))
        estimates = jnp.where(oracle.observed, losses / jnp.where(oracle.observed, shown, 1.0), 0.0)
        return self.combiner.update(state, estimates, jnp.vdot(p, estimates)), ()


def _n_cliques(shows: np.ndarray) -> int:
    """Return the number of cliques, found greedily, that cover the arms that show themselves."""
    cliques: list[list[int]] = []
    for arm in np.flatnonzero(shows.diagonal()).tolist():
        mutual = [clique for clique in cliques if (shows & shows.T)[arm, clique].all()]
        if not mutual:
            cliques.append([])
        (mutual or cliques[-1:])[0].append(arm)
    return len(cliques)


# ---------------------------------------------------------------------------------------------------------------------
# Partial monitoring: FeedExp3 of Piccolboni and Schindelhauer (2001); Cesa-Bianchi, Lugosi and Stoltz (2006).


def _as_game(value: Any, name: str) -> PartialMonitoring:
    """Return a game that is neither trivial nor hopeless."""
    game = check.instance(name, value, PartialMonitoring, "a PartialMonitoring")
    if game.analysis.estimators is None:
        raise ArgumentError(name, f"must be locally or globally observable (got a {game.observability} game)")
    return game


FiniteGame = Annotated[PartialMonitoring, Component("`PartialMonitoring`"), Convert(_as_game)]


@cites("piccolboni2001discrete", "cesabianchi2006regret")
@struct
class FeedExp3(CombinerLearner):
    """FeedExp3: exponential weights for globally observable games of partial monitoring.

    The estimate for an action is a number for the played action and the shown symbol, divided by the probability of the
    played action; its mean is the action's loss minus the mean loss of all candidates (`game.analysis.estimators`). The
    combiner weighs the candidates, which are the Pareto-optimal actions. All actions are explored.

    Args:
        game: the game, which is also the feedback.
        combiner: the rate eta of exponential weights, or another `Combiner`.
        exploration: gamma in p = (1 - gamma) weights + gamma / N.

    Raises:
        ValueError: the game is hopeless or trivial; the feedback shows other symbols.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.PartialMonitoring(losses=[[1, 1], [0, 1], [1, 0]], signals=[[0, 1], [0, 0], [0, 0]])
        >>> learner = jo.learners.FeedExp3.over_horizon(game, n_rounds=1000)
        >>> game.observability, game.analysis.candidates, round(learner.exploration, 3)
        ('global', (1, 2), 0.08)
    """

    game: FiniteGame
    combiner: RateOrCombiner
    exploration: Probability

    loss_range = None  # type: ignore[assignment]

    # Tuning, for N actions, C candidates, losses in an interval of length r, and V = the largest sum of squares over
    # the actions of the numbers that estimate the loss of a candidate. Exponential weights on estimates l satisfy
    #     sum <q, l> - sum l_k <= ln C / eta + eta sum <q, l^2>   if eta |l| <= 1,
    # and p >= gamma / N, so E l^2 <= N V / gamma; exploration adds r gamma T. gamma = (N V ln C / (r^2 T))^(1/3) and
    # eta = r gamma^2 / (N V) give 3 (r N V ln C)^(1/3) T^(2/3). |l| is at most N v / gamma for the largest number v, so
    # eta |l| <= 1 if gamma <= V / (r v), as in long games; otherwise eta = gamma / (N v).
    @classmethod
    @validate_arguments
    def over_horizon(cls, game: FiniteGame, n_rounds: Rounds) -> "FeedExp3":
        """Set eta and gamma for T rounds: the regret grows as T^(2/3). A comment in the code derives the constants."""
        numbers, N, r = np.abs(np.asarray(game.analysis.estimators)), len(game.losses), np.ptp(game.losses)
        V, v, C = (numbers[:, np.arange(N)[:, None], game.symbols] ** 2).sum(axis=1).max(), numbers.max(), len(numbers)
        gamma = min(1.0, float((N * V * np.log(C) / (r**2 * n_rounds)) ** (1 / 3)))
        return cls(game, EWA(float(min(r * gamma**2 / (N * V), gamma / (N * v))), C), gamma)

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise a ValueError if the feedback has other signals than the learner's game."""
        if isinstance(feedback, PartialMonitoring) and feedback.symbols.tolist() != self.game.symbols.tolist():
            raise ArgumentError("game", "must be the feedback of the game (got other signals)")

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the combiner's state for the candidates; raise a ValueError if outcomes are not a loss per action."""
        if (shape := getattr(specs.outcome, "shape", None)) != (len(self.game.losses),):
            raise ArgumentError("outcomes", f"must have the shape ({len(self.game.losses)},) (got {shape})")
        return self.combiner.init(len(self.game.analysis.candidates), specs.outcome.dtype)

    def weights(self, state: PyTree) -> Float[Array, "N"]:
        """Return the weights of all actions, which are 0 unless the action is a candidate."""
        weights, units = self.combiner.weights(state), np.eye(len(self.game.losses))
        return weights @ jnp.asarray(units[list(self.game.analysis.candidates)], weights.dtype)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """Draw an action from (1 - gamma) weights + gamma / N."""
        return draw_arm(key, mix_uniform(self.weights(state), self.exploration))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass to the combiner the estimates, and their mean as the loss of the move."""
        (action, p), symbol = oracle.move, oracle.symbol()
        estimates = jnp.asarray(self.game.analysis.estimators, p.dtype)[:, action, symbol] / p[action]
        return self.combiner.update(state, estimates, jnp.vdot(self.combiner.weights(state), estimates)), ()

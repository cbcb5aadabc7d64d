"""OMKL-GF: a random graph chooses which kernels predict and learn in each round.

Ghari and Shen (2020), "Online multi-kernel learning with graph-structured feedback"; the settings are those of the
experiments of Rokhlin and Gurtovaya (2025).
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline import random
from jaxonline.estimators.dictionary import AnyDictionary
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.step_sizes import InverseSqrt, StepSize
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, NonNegative, NonNegativeInt, PositiveProbability


class Graph(NamedTuple):
    """The kernels that each node would use.

    Attributes:
        edges: whether node j is joined to kernel k [N, J].
        probabilities: of the edges, 1 - (1 - p_kj)^M [N, J].
    """

    edges: Bool[Array, "N J"]
    probabilities: Float[Array, "N J"]


class OMKLGFState(NamedTuple):
    """State of `OMKLGF`.

    Attributes:
        theta: weights of each kernel's features [N, p].
        log_weights: of the kernels [N].
        t: the number of rounds played.
        graph: of the coming round.
        node: drawn for the coming round.
        node_law: that it was drawn from [J].
    """

    theta: Float[Array, "N p"]
    log_weights: Float[Array, "N"]
    t: Int[Array, ""]
    graph: Graph
    node: Int[Array, ""]
    node_law: Float[Array, "J"]


@cites("ghari2020online", "rokhlin2025random")
@struct
class OMKLGF(LearnerDefaults):
    """Each round a node is drawn, and only the kernels joined to it predict and learn.

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        step_size: of theta and of the weights.
        exploration: eta_e of round t, clipped to 1: of node j's kernels with the power j, and of the node.
        penalty: lambda of the regularised losses (f - y)^2 + lambda |theta|^2.
        least_probability: importance weights divide by at least this.
        n_nodes: J.
        n_draws: M, draws of a kernel (with replacement) for each node.
        redraw_rounds: the graph is redrawn up to this round, and then frozen.
        sampler: "correct"; or "published", which returns the kernel after the one it drew (the last one stays), so
            that the first kernel is never used.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.learners import OMKLGF
        >>> learner = OMKLGF(Dictionary(np.zeros((3, 1, 1))))
        >>> game = jo.Game(jo.environments.DataStream(np.ones((2, 1)), np.ones(2)), jo.FullInformation())
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=2)[1].y_hat.shape
        (2,)
    """

    dictionary: AnyDictionary
    step_size: StepSize = InverseSqrt(0.1)
    exploration: StepSize = InverseSqrt(0.1)
    penalty: NonNegative = 1e-3
    least_probability: PositiveProbability = 0.05
    n_nodes: Count = static(default=2)
    n_draws: Count = static(default=5)
    redraw_rounds: NonNegativeInt = static(default=301)
    sampler: Literal["correct", "published"] = static(default="correct")

    def init(self, key: Key[Array, ""], specs: Specs) -> OMKLGFState:
        """theta = 0, equal weights, and the first round's graph and node."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        log_weights = jnp.zeros(z.shape[0], z.dtype)
        u, first = self._uniform(key, z.dtype), jnp.int32(1)
        graph = self._draw_graph(u, log_weights, first)
        node_law = self._node_law(log_weights, graph, first)
        theta = jnp.zeros(z.shape, z.dtype)
        return OMKLGFState(theta, log_weights, jnp.int32(0), graph, _invert(u[-1], node_law), node_law)

    def predict(self, key: Key[Array, ""] | None, state: OMKLGFState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """The weighted mean of the kernels that are joined to the node drawn."""
        del key
        weights = softmax_weights(jnp.where(self._active(state), state.log_weights, -jnp.inf))
        return weights @ jnp.sum(state.theta * self.dictionary(x), axis=1)

    def update(self, key: Key[Array, ""], state: OMKLGFState, oracle: Any) -> tuple[OMKLGFState, tuple]:
        """Gradient and weight steps divided by q_k, for the kernels joined to the node; then draw for the next."""
        z, t = self.dictionary(oracle.x), state.t + 1
        dtype = z.dtype
        step, penalty = self.step_size(t, dtype), jnp.asarray(self.penalty, dtype)
        chance = jnp.matmul(state.graph.probabilities, state.node_law, precision="highest")
        rates = step / jnp.maximum(chance, jnp.asarray(self.least_probability, dtype))
        rates = jnp.where(self._active(state), rates, 0.0)
        residuals = jnp.sum(state.theta * z, axis=1) - oracle.y
        theta = state.theta - rates[:, None] * (2.0 * residuals[:, None] * z + 2.0 * penalty * state.theta)
        log_weights = state.log_weights - rates * (residuals**2 + penalty * jnp.sum(theta**2, axis=1))

        u = self._uniform(key, dtype)
        redraw = (t + 1).astype(dtype) <= jnp.asarray(self.redraw_rounds, dtype)
        graph = jax.lax.cond(redraw, lambda: self._draw_graph(u, log_weights, t + 1), lambda: state.graph)
        node_law = self._node_law(log_weights, graph, t + 1)
        return OMKLGFState(theta, log_weights, t, graph, _invert(u[-1], node_law), node_law), ()

    def weights(self, state: OMKLGFState) -> Float[Array, "N"]:
        """The weights of the kernels."""
        return softmax_weights(state.log_weights)

    def _active(self, state: OMKLGFState) -> Bool[Array, "N"]:
        return jnp.take(state.graph.edges, state.node, axis=1)

    def _explore(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        return jnp.minimum(self.exploration(t, dtype), 1.0)

    def _uniform(self, key: Key[Array, ""], dtype: Any) -> Float[Array, "n"]:
        """One number for each draw of a kernel, and a last one for the node."""
        return random.uniform(key, (self.n_nodes * self.n_draws + 1,), dtype)

    def _draw_graph(self, u: Float[Array, "n"], log_weights: Float[Array, "N"], t: Int[Array, ""]) -> Graph:
        """For node j, M draws from p_kj = (1 - eta_e^j) w_k / sum w + eta_e^j / N."""
        n = len(log_weights)
        powers = self._explore(t, log_weights.dtype) ** jnp.arange(1, self.n_nodes + 1, dtype=log_weights.dtype)
        p = (1.0 - powers)[:, None] * softmax_weights(log_weights)[None] + powers[:, None] / n
        drawn = jax.vmap(jax.vmap(_invert, (0, None)))(u[:-1].reshape(self.n_nodes, self.n_draws), p)
        if self.sampler == "published":
            drawn = jnp.minimum(drawn + 1, n - 1)
        edges = jnp.any(drawn[..., None] == jnp.arange(n, dtype=jnp.int32)[None, None], axis=1)
        return Graph(edges.T, 1.0 - (1.0 - p.T) ** self.n_draws)

    def _node_law(self, log_weights: Float[Array, "N"], graph: Graph, t: Int[Array, ""]) -> Float[Array, "J"]:
        """p_c,j = (1 - eta_e) u_j / sum u + eta_e / J, u_j the weight of the kernels joined to node j."""
        u = jax.nn.logsumexp(log_weights[:, None], axis=0, b=graph.edges.astype(log_weights.dtype))
        explore = self._explore(t, log_weights.dtype)
        return (1.0 - explore) * softmax_weights(u) + explore / self.n_nodes


def _invert(u: Float[Array, ""], law: Float[Array, "n"]) -> Int[Array, ""]:
    """The index that a uniform number draws from a law."""
    return jnp.sum(u >= jnp.cumsum(law)[:-1], dtype=jnp.int32)

"""OMKL-GF: Ghari and Shen (2020), "Online multi-kernel learning with graph-structured feedback".

Rokhlin and Gurtovaya (2025) compare with this learner (section 4). The sampler of their program has an error, which the
option `sampler` reproduces.
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.estimators.fourier import AnyDictionary
from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.descent import InverseSqrt, StepSize
from jaxonline.learners.kernels.dictionaries import descend_each_kernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, NonNegative, NonNegativeInt, PositiveProbability
from jaxonline.random.exact import index_at
from jaxonline.random.threefry import WordPairs, word_pairs


class Graph(NamedTuple):
    """Graph of N kernels and J nodes: `edges` [N, J] and the `probabilities` 1 - (1 - p_kj)^M of the edges [N, J]."""

    edges: Bool[Array, "N J"]
    probabilities: Float[Array, "N J"]


class OMKLGFState(NamedTuple):
    """State of `OMKLGF`; `graph`, `node` and the distribution `node_law` of the node belong to the next round."""

    theta: Float[Array, "N p"]
    log_weights: Float[Array, "N"]
    t: Int[Array, ""]
    graph: Graph
    node: Int[Array, ""]
    node_law: Float[Array, "J"]


@cites("ghari2020online", "rokhlin2025random")
@struct
class OMKLGF(Learner):
    """OMKL-GF: only the kernels joined to a drawn node predict and learn; defaults of Rokhlin and Gurtovaya (2025).

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        step_size: step size of theta and of the weights.
        exploration: exploration rate eta_e of the node in round t, clipped to 1; its power eta_e^j is the rate for the
            kernels of node j.
        penalty: lambda of the regularised losses (f - y)^2 + lambda |theta|^2.
        least_probability: lower bound on the divisor of importance weights.
        n_nodes: J.
        n_draws: M, draws of a kernel (with replacement) for each node.
        redraw_rounds: last round in which the graph is drawn again.
        sampler: "correct"; or "published", which replaces the drawn kernel by the next kernel (if there is a next one),
            so that the first kernel is never used.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from benchmarks.papers.engines.omkl_gf import OMKLGF
        >>> from jaxonline.estimators.fourier import Dictionary
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
        """Return theta = 0, equal weights, and the graph and node of round 1."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        log_weights = jnp.zeros(z.shape[0], z.dtype)
        u, first = self._draw_words(key, z.dtype), jnp.int32(1)
        graph = self._draw_graph(u, log_weights, first)
        node_law = self._node_probabilities(log_weights, graph, first)
        theta = jnp.zeros(z.shape, z.dtype)
        return OMKLGFState(theta, log_weights, jnp.int32(0), graph, _invert_last(u, node_law), node_law)

    def predict(self, key: Key[Array, ""] | None, state: OMKLGFState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the weighted mean of the kernels that are joined to the node."""
        weights = softmax_weights(jnp.where(self._active(state), state.log_weights, -jnp.inf))
        return weights @ jnp.sum(state.theta * self.dictionary(x), axis=1)

    def update(self, key: Key[Array, ""], state: OMKLGFState, oracle: Any) -> tuple[OMKLGFState, tuple[()]]:
        """Make gradient and weight steps, divided by q_k, for the node's kernels; then draw a graph and a node."""
        z, t = self.dictionary(oracle.x), state.t + 1
        dtype = z.dtype
        q = jnp.matmul(state.graph.probabilities, state.node_law, precision="highest")
        steps = self.step_size(t, dtype) / jnp.maximum(q, jnp.asarray(self.least_probability, dtype))
        steps = jnp.where(self._active(state), steps, 0.0)
        theta, losses = descend_each_kernel(state.theta, z, oracle.y, steps, self.penalty)
        log_weights = state.log_weights - steps * losses

        u = self._draw_words(key, dtype)
        redraw = (t + 1).astype(dtype) <= jnp.asarray(self.redraw_rounds, dtype)
        graph = jax.lax.cond(redraw, lambda: self._draw_graph(u, log_weights, t + 1), lambda: state.graph)
        node_law = self._node_probabilities(log_weights, graph, t + 1)
        return OMKLGFState(theta, log_weights, t, graph, _invert_last(u, node_law), node_law), ()

    def weights(self, state: OMKLGFState) -> Float[Array, "N"]:
        """Return the weights of the kernels."""
        return softmax_weights(state.log_weights)

    def _active(self, state: OMKLGFState) -> Bool[Array, "N"]:
        return jnp.take(state.graph.edges, state.node, axis=1)

    def _explore(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        return jnp.minimum(self.exploration(t, dtype), 1.0)

    def _draw_words(self, key: Key[Array, ""], dtype: Any) -> WordPairs:
        """Return a uniform number for each draw of a kernel, and a last number for the node."""
        return word_pairs(key, (self.n_nodes * self.n_draws + 1,), dtype)

    def _draw_graph(self, u: WordPairs, log_weights: Float[Array, "N"], t: Int[Array, ""]) -> Graph:
        """For each node j, draw M kernels from p_kj = (1 - eta_e^j) w_k / sum w + eta_e^j / N."""
        n = len(log_weights)
        powers = self._explore(t, log_weights.dtype) ** jnp.arange(1, self.n_nodes + 1, dtype=log_weights.dtype)
        p = (1.0 - powers)[:, None] * softmax_weights(log_weights)[None] + powers[:, None] / n
        drawn = jax.vmap(index_at)(WordPairs(*(words[:-1].reshape(self.n_nodes, self.n_draws) for words in u)), p)
        if self.sampler == "published":
            drawn = jnp.minimum(drawn + 1, n - 1)
        edges = jnp.any(drawn[..., None] == jnp.arange(n, dtype=jnp.int32)[None, None], axis=1)
        return Graph(edges.T, 1.0 - (1.0 - p.T) ** self.n_draws)

    def _node_probabilities(self, log_weights: Float[Array, "N"], graph: Graph, t: Int[Array, ""]) -> Float[Array, "J"]:
        """Return p_c,j = (1 - eta_e) u_j / sum u + eta_e / J, where u_j is the weight of the kernels of node j."""
        u = jax.nn.logsumexp(log_weights[:, None], axis=0, b=graph.edges.astype(log_weights.dtype))
        explore = self._explore(t, log_weights.dtype)
        return (1.0 - explore) * softmax_weights(u) + explore / self.n_nodes


def _invert_last(u: WordPairs, probabilities: Float[Array, "n"]) -> Int[Array, ""]:
    """Return the index that the last uniform number draws from a distribution."""
    return index_at(WordPairs(u.high[-1], u.low[-1]), probabilities)

"""Prod: the inner products of a hypothesis w with the estimates of a round, and w + alpha Psi~ for one estimate.

Source: paper A (COLT 2010), Subroutines 3 and 6. Low levels use the tensors of w, deeper levels use packed copies.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.learners.kernels import calls_per_run, expansion
from jaxonline.learners.kernels.expansion import Expansion, Feature, ReservedChunks
from jaxonline.learners.kernels.map_estimate import MapEstimate
from jaxonline.numerics.elementwise import index_after
from jaxonline.numerics.ragged import Increment, ragged_add, ragged_map
from jaxonline.parameters.struct import replace


class InnerProducts(NamedTuple):
    """Products with the estimates Psi~_0, Psi~_1, ... of a round, and w prepared for the addition of Psi~_0.

    `values` are the products <w, Psi~_j>, 0 for unused estimates. `psi` is Psi~_0, `squared_norm` is |Psi~_0|^2, and
    `reserved` are the chunks of `w` for Psi~_0.
    """

    values: Float[Array, "m"]
    psi: Feature
    w: Expansion
    reserved: ReservedChunks
    squared_norm: Float[Array, ""]

    def add_estimate(self, alpha: Float[Array, ""]) -> Expansion:
        """Return w + alpha Psi~_0."""
        return expansion.add(self.w, alpha, self.psi, self.values[0], self.squared_norm, self.reserved)


def inner_products(w: Expansion, estimates: MapEstimate, number: Int[Array, ""]) -> InnerProducts:
    """Return the products of w with the first `number` estimates Psi~_j of a round."""
    psis, products = _shallow_products(w, estimates, number)
    w, reserved, squared_norm, products = _add_deep_products(w, estimates, number, psis, products)
    return InnerProducts(products, jax.tree.map(lambda leaf: leaf[0], psis), w, reserved, squared_norm)


def _shallow_products(
    w: Expansion, estimates: MapEstimate, number: Int[Array, ""]
) -> tuple[Feature, Float[Array, "m"]]:
    """Return the first `number` estimates, and their products with w; later estimates, and deep products, are 0."""

    def multiply(j):
        psi = estimates.shallow(j)
        return psi, expansion.shallow_product(w.tensors, psi)

    return ragged_map(multiply, number, len(estimates.requests.levels), calls_per_run.ESTIMATES)


def _add_deep_products(
    w: Expansion, estimates: MapEstimate, number: Int[Array, ""], psis: Feature, products: Float[Array, "m"]
) -> tuple[Expansion, ReservedChunks, Float[Array, ""], Float[Array, "m"]]:
    """Add the products of estimates whose level has no tensor, and the rows of Psi~_0 if it has such a level."""
    requests, storage = estimates.requests, estimates.storage
    is_deep = (requests.levels > storage.tensor_levels) & (requests.indices < number)
    rank = jnp.cumsum(is_deep, dtype=jnp.int32)
    stored = is_deep[0] & (requests.levels[0] <= storage.deepest) & (requests.pairs[0] <= storage.most_pairs)
    reserved = ReservedChunks.for_level(w, jnp.where(stored, requests.levels[0], 0))

    def multiply(i, state):
        j = jnp.sum(rank <= i, dtype=jnp.int32)  # the i-th deep estimate
        psi = estimates.deep(j, psis)
        current = replace(w, rows=state[0], level=reserved.level, place=reserved.place)
        product = expansion.deep_product(current, psi)
        is_own = j == index_after(0, product)  # the rows are read before they change
        rows, norm = reserved.rows(w, psi), expansion.squared_norm(psi)
        own = (jnp.where(is_own, value, jnp.zeros_like(value)) for value in (rows, norm))
        return *map(Increment, own), Increment(product, j)

    start = w.rows, jnp.zeros_like(w.squared_norm), products
    rows, norm, products = ragged_add(multiply, rank[-1], start, calls_per_run.DEEP_ESTIMATES)
    return replace(w, rows=rows), reserved, norm, products

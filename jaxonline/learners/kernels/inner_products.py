"""Prod: the inner products of a hypothesis w with the estimates of a round, and w + alpha Psi~ with one of them.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Subroutines 3
and 6. Estimates of low levels are multiplied with the tensors of w; the few deeper ones with its packed copies.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.learners.kernels import expansion, list_sizes
from jaxonline.learners.kernels.expansion import Expansion, Feature, Reserved
from jaxonline.learners.kernels.map_estimate import MapEstimate
from jaxonline.linalg.ordering import index_after
from jaxonline.linalg.ragged import Increment, ragged_add, ragged_map
from jaxonline.parameters.struct import replace


class InnerProducts(NamedTuple):
    """The products with the estimates Psi~_0, Psi~_1, ... of a round, and w prepared for the addition of Psi~_0.

    Attributes:
        values: <w, Psi~_j> [m], 0 for estimates that are not used.
        psi: Psi~_0.
        w: the hypothesis, with the rows of a deep Psi~_0, which count for nothing yet.
        reserved: where these rows are.
        squared_norm: |Psi~_0|^2 of a deep one.
    """

    values: Float[Array, "m"]
    psi: Feature
    w: Expansion
    reserved: Reserved
    squared_norm: Float[Array, ""]

    def add_own(self, alpha: Float[Array, ""]) -> Expansion:
        """w + alpha Psi~_0."""
        return expansion.add(self.w, alpha, self.psi, self.values[0], self.squared_norm, self.reserved)


def inner_products(w: Expansion, estimates: MapEstimate, number: Int[Array, ""]) -> InnerProducts:
    """The products of w with the first `number` estimates."""
    psis, products = _shallow_products(w, estimates, number)
    w, reserved, squared_norm, products = _with_deep_products(w, estimates, number, psis, products)
    return InnerProducts(products, jax.tree.map(lambda leaf: leaf[0], psis), w, reserved, squared_norm)


def _shallow_products(
    w: Expansion, estimates: MapEstimate, number: Int[Array, ""]
) -> tuple[Feature, Float[Array, "m"]]:
    """The first `number` estimates, and their products; 0 for the others, and for those without a tensor."""

    def multiply(j):
        psi = estimates.shallow(j)
        return psi, expansion.shallow(w.tensors, psi)

    return ragged_map(multiply, number, len(estimates.requests.levels), list_sizes.ESTIMATES)


def _with_deep_products(
    w: Expansion, estimates: MapEstimate, number: Int[Array, ""], psis: Feature, products: Float[Array, "m"]
) -> tuple[Expansion, Reserved, Float[Array, ""], Float[Array, "m"]]:
    """The products of estimates whose level has no tensor, too. Psi~_0, if it is one of them, gets its rows in w."""
    requests, room = estimates.requests, estimates.room
    deep = (requests.levels > room.tensor_levels) & (requests.indices < number)
    rank = jnp.cumsum(deep, dtype=jnp.int32)
    stored = deep[0] & (requests.levels[0] <= room.deepest) & (requests.pairs[0] <= room.most_pairs)
    reserved = Reserved.of(w, jnp.where(stored, requests.levels[0], 0))

    def multiply(i, so_far):
        j = jnp.sum(rank <= i, dtype=jnp.int32)  # the i-th deep one
        psi = estimates.deep(j, psis)
        before = replace(w, rows=so_far[0], level=reserved.level, place=reserved.place)
        product = expansion.deep(before, psi)
        is_own = j == index_after(0, product)  # the rows are read before they change
        rows, norm = reserved.rows(w, psi), expansion.squared_norm(psi)
        own = (jnp.where(is_own, value, jnp.zeros_like(value)) for value in (rows, norm))
        return *map(Increment, own), Increment(product, j)

    start = w.rows, jnp.zeros_like(w.squared_norm), products
    rows, norm, products = ragged_add(multiply, rank[-1], start, list_sizes.DEEP_ESTIMATES)
    return replace(w, rows=rows), reserved, norm, products

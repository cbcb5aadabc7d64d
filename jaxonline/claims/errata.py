"""The five papers behind this package and their misprints E1 to E20, as printed and corrected.

Docstrings, claims and documents refer to papers by letter and to misprints by number.
"""

from typing import NamedTuple

from jaxonline.parameters import check


class Paper(NamedTuple):
    """A paper or lecture; `link` is empty if the text has no permanent address."""

    authors: str
    title: str
    published: str
    link: str = ""

    def __str__(self) -> str:
        title = f"[{self.title}]({self.link})" if self.link else self.title
        return f"{self.authors}, {title}, {self.published}"


PAPERS: dict[str, Paper] = {
    "A": Paper(
        "N. Cesa-Bianchi, S. Shalev-Shwartz and O. Shamir",
        "Online learning of noisy data with kernels",
        "COLT 2010",
        "https://arxiv.org/abs/1005.2296",
    ),
    "B": Paper(
        "N. Cesa-Bianchi, S. Shalev-Shwartz and O. Shamir",
        "Learning from noisy data under distributional assumptions",
        "NIPS workshop 2010",
    ),
    "C": Paper(
        "N. Cesa-Bianchi, S. Shalev-Shwartz and O. Shamir",
        "Efficient learning with partially observed attributes",
        "ICML 2010",
        "https://arxiv.org/abs/1004.4421",
    ),
    "D": Paper(
        "D. B. Rokhlin and O. V. Gurtovaya",
        "Random feature-based double Vovk-Azoury-Warmuth algorithm for online multi-kernel learning",
        "2025",
        "https://arxiv.org/abs/2503.20087",
    ),
    "E": Paper(
        "S. Park",
        "Online learning",
        "lecture slides, POSTECH, after P. Liang (CS229T, 2016) and Mohri, Rostamizadeh and Talwalkar",
    ),
}


class Erratum(NamedTuple):
    """A misprint.

    Attributes:
        number: the number n in the name En of the misprint.
        paper: the letter of the paper, a key of `PAPERS`.
        place: the section, equation, theorem or algorithm with the misprint.
        printed: the printed statement.
        right: the correct statement.
        note: the size of the error, or the later results that inherit the error.
    """

    number: int
    paper: str
    place: str
    printed: str
    right: str
    note: str = ""

    def __str__(self) -> str:
        text = f"E{self.number}. {self.paper}, {self.place}. Printed: {self.printed}. Right: {self.right}."
        return f"{text} {self.note}." if self.note else text


ERRATA: tuple[Erratum, ...] = (
    Erratum(1, "A", "section 2 and Example 2", "the exponential loss of a margin a is e^a", "e^-a"),
    Erratum(
        2, "A", "Appendix C",
        "the smoothed absolute loss is a erf(s a) + e^(-s^2 a^2) / (sigma sqrt(pi))",
        "s for sigma, so that its derivative is erf(s a)",
    ),
    Erratum(
        3, "A", "Example 4 and Appendix C",
        "the series of the smoothed hinge loss's l' is in powers of a - 1, and the estimator multiplies its "
        "coefficients by copies of a",
        "factors y <w, Psi~> - 1; or the series about 0: gamma_0 = (erf(-s) - 1)/2, gamma_n = s^n (-1)^(n-1) "
        "H_(n-1)(-s) e^(-s^2) / (sqrt(pi) n!), with H the physicists' Hermite polynomials",
        "At s = 1, a = 0.3 the printed series gives -0.336 where l' is -0.839",
    ),
    Erratum(
        4, "A", "Examples 3 and 4, Appendix C",
        "l'_+(a) <= 1/2 + (e^(s^2 a^2) - 1) / (s a sqrt(pi)) for the smoothed absolute loss, and "
        "l'_+(a) <= 2 e^(s^2 a^2 - 1) / (s a sqrt(pi)) for the smoothed hinge loss",
        "erfi(s a) for the absolute loss; for the hinge loss the sum of |gamma_n| a^n about 0, computed",
        "The two are swapped against the appendix, and the hinge's is for the series that E3 is about; the absolute "
        "loss's is false in the appendix, too (1121 at s a = 3, where the sum is 1630): it needs e^(s^2 a^2) - 1",
    ),
    Erratum(
        5, "A", "section 2", "the binomial kernel is (1 + <x, x'>)^-alpha", "(1 - <x, x'>)^-alpha, |<x, x'>| < 1",
        "The coefficients of the printed one alternate in sign: it is no kernel",
    ),
    Erratum(
        6, "A", "Appendix B, Eq. 6 and Subroutine 5",
        "a feature of the Gaussian kernel is e^(-|x|^2/sigma^2) (2/sigma^2)^n / n! x_k1 ... x_kn",
        "the square root of (2/sigma^2)^n / n!",
        "The inner product of the printed features is 1.521 where the kernel is 0.951 (x = (.6, .5), x' = (.5, .7), "
        "sigma = 1); Subroutines 6 and 7 and Lemma 5 inherit it",
    ),
    Erratum(
        7, "A", "Lemma 5", "E|Psi~|^2 <= (p/(p-1))^2 exp((sqrt(p) B + 2 p sqrt(B)) / sigma^2), B >= E|x~|^2",
        "(p/(p-1))^2 I_0(2 sqrt(p) B / sigma^2) exp(2 p B / sigma^2), for the map without E6",
        "The last step drops a factor 2 in an exponent: (sum of a^n/n!)^2 is e^(2a). At p = 1.5, B = 4, sigma = 1 the "
        "printed map has 4.86e7, and its printed bound is 4.87e5",
    ),
    Erratum(
        8, "A", "Algorithm 1", "where n~ = |w|^2 > B_w, alpha is multiplied by sqrt(B_w) / n~", "sqrt(B_w / n~)",
        "n~ is the square of the norm already",
    ),
    Erratum(
        9, "A", "Subroutine 1", "the factors of g~ are sum_i alpha_i Prod(Psi~_i, Psi~_tj)",
        "y times that, y^n in all",
        "With y = -1, the exponential loss and <w, Psi> = 0.6 the mean is e^-0.6 = 0.549 where e^0.6 = 1.822 is right",
    ),
    Erratum(
        10, "B", "Lemma 1 and Theorem 1", "E|g|^2 <= G = 4 (B_w^2 B^2 + B_y^2) B^2", "G = 4 (B_w B + B_y)^2 B^2",
        "The cross term is dropped",
    ),
    Erratum(
        11, "B", "Lemma 2, Theorem 2 and Algorithm 1", "the gradient from one copy is 2 (<w, x~> - y~) x~ - Sigma w",
        "2 (<w, x~> - y~) x~ - 2 Sigma w", "The printed one is biased by Sigma w; its G changes with it",
    ),
    Erratum(
        12, "B", "Theorem 3", "regret <= 2 W R sqrt(W^2 R^2 + B_y^2) sqrt(T)", "2 W R (W R + B_y) sqrt(T)",
        "The same cross term as in E10",
    ),
    Erratum(
        13, "B", "Appendix E, Lemmas 7 and 8, Theorem 5",
        "2 sigma u in the surrogate of a radial kernel, and so c < d/(4 sigma) and R^2 <= exp(2 sigma c)",
        "2 sigma^2 u, c < d/(4 sigma^2), R^2 <= exp(2 sigma^2 c)",
        "At sigma = 0.5, u = 0.3, d = 4 the printed mean is 1.206 where 0.890 is right; Lemma 7 is merely looser for "
        "sigma < 1",
    ),
    Erratum(
        14, "C", "Algorithm 2 (AER)", "y^ is a mean of sgn(w_i) |w|_1 x_j, j left over from the loop for v",
        "sgn(w_i) |w|_1 x_i", "The printed gradient has a bias of order 1",
    ),
    Erratum(
        15, "C", "Algorithm 1 (Baseline)", "minimise w'Aw + w'v, v being a mean of 2 y x", "w'Aw - w'v",
        "The printed minimiser predicts -y",
    ),
    Erratum(
        16, "C", "section 2.1", "the Baseline's problem is convex once A is made symmetric",
        "A is in general not positive semi-definite", "Projected on the cone, it is",
    ),
    Erratum(
        17, "D", "Table 2", "the table is that of VAW forecasters and of VAW over them",
        "it was made with online ridge regression, without the current instance in S_t, at both levels",
        "The command jaxonline reproduce multikernel prints the table with either",
    ),
    Erratum(
        18, "E", "exponential weights", "the step is eta = 8 ln N / T", "eta = sqrt(8 ln N / T)",
        "Ten experts, one always right, T = 1000: regret 125 with the printed step, above its printed bound of 48; 17 "
        "with the right one, whose bound is 34",
    ),
    Erratum(
        19, "A", "Theorems 1 and 2, Example 1", "in regression the bounds do not know the labels",
        "|<w, Psi~> - y| is bounded, so that the labels' size adds to the argument of l'_+",
        "Labels +40 and -40 by a fair coin, linear kernel, T = 100: the least expected regret of any learner is 545.3, "
        "the printed bound 160, the corrected one 3360",
    ),
    Erratum(
        20, "C", "Lemma 3",
        "every entry of the Baseline's v is at most 2 d/k, so that v is within (d/k) sqrt(8 ln(2 d/delta) / m) of its "
        "mean",
        "at most (1 + k/2) d/k; v is within (d/sqrt(k)) sqrt(4 ln(2 d/delta) / m)",
        "From k = 4 on an attribute may be in several pairs. At d = 10, k = 100, m = 1, x = (1, ..., 1) one entry "
        "alone is beyond the printed bound for delta = 0.05 with probability 0.098",
    ),
)  # fmt: skip


def erratum(number: int) -> Erratum:
    """Return the misprint with a given number; raise a ValueError for an unknown number.

    Example:
        >>> from jaxonline.claims.errata import erratum
        >>> erratum(8).place, erratum(8).right
        ('Algorithm 1', 'sqrt(B_w / n~)')
    """
    check.number("number", number, ge=1, le=len(ERRATA))
    return ERRATA[number - 1]


def legend() -> str:
    """Return the list of papers, with their letters, in Markdown."""
    return "".join(f"* **{letter}**: {paper}\n" for letter, paper in PAPERS.items())

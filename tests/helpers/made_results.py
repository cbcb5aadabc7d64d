"""Results of made-up numbers, of any size and kind, for tests of how they are shown."""

from html.parser import HTMLParser

import numpy as np

from jaxonline.results import Result

NASTY = (
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", 'a "quoted" & \'other\' name',
    "50 % of a_b^c ~ {d} \\e $f$ #g", "one | two `code` *bold* [link](x)", "η = 10⁻³, 学習者", "\x1b[31mred\nnew line",
)  # fmt: skip


def made_result(
    n_learners: int = 3, n_runs: int = 30, n_rounds: int = 100, *, recorded: int = 10, log: bool = False,
    comparator: bool = True, names: tuple[str, ...] = (), failed: tuple = (), vector: bool = False,
    meta: dict | None = None,
) -> Result:  # fmt: skip
    """Learner i is worse than learner i - 1 in every run and round; the regret is about (i + 1) sqrt(t)."""
    rng = np.random.default_rng(3)
    rounds = np.linspace(n_rounds / recorded, n_rounds, recorded).astype(int)
    if log:
        rounds = np.unique(np.geomspace(1, n_rounds, recorded).astype(int))
    common = rng.gamma(9.0, 1 / 9, size=(1, n_runs, 1))
    own = 1.0 + np.arange(n_learners)[:, None, None] + 0.1 * rng.random((n_learners, n_runs, 1))
    regret = own * common * np.sqrt(rounds)
    best = np.broadcast_to(0.2 * common * rounds, regret.shape)
    first = np.zeros((n_learners, n_runs), int)
    for learner, run in failed:
        regret[learner, run] = np.nan
        first[learner, run] = 1
    measures = {
        "cumulative_loss": regret + (best if comparator else 0.0),
        "queries": np.broadcast_to(2.0 * rounds, regret.shape),
    }
    if vector:
        measures["pulls"] = np.stack([regret, 2 * regret], axis=-1)
    return Result(
        learners=names or tuple(f"learner {i}" for i in range(n_learners)), runs=np.arange(n_runs), rounds=rounds,
        measures=measures, comparator_loss=best if comparator else None, first_nonfinite=first, meta=meta or {},
    )  # fmt: skip


class Tags(HTMLParser):
    """The tags of a page, which must be closed in their order, and its words."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.all, self.words = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))
        if tag not in ("img", "meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

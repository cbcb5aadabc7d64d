// How the search of the site ranks its results (html_search_scorer): guides first, then studies, then the reference.
var Scorer = {
  objNameMatch: 27, // a whole name, such as UCB1; guides with the word in a heading come first
  objPartialMatch: 4,
  objPrio: { 0: -10, 1: 5, 2: -5 }, // modules, classes and functions, others
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  // points for a kind of page; the first pattern that matches counts
  pages: [
    [/^docs\/CHANGELOG$|^benchmarks\/papers\/docs\//, -8],
    [/^docs\/how-do-i$/, 8], // a list of answers; the answers are better
    [/^docs\/(how-do-i-|troubleshooting|bandits|noisy-data|games|which-learner|own-csv)/, 14],
    [/^docs\/(how-it-works|how-fast|intervals|bounds)$/, 2],
    [/^docs\/gallery$/, 0],
    [/^docs\//, 11],
    [/^index$/, 4],
    [/^(benchmarks\/papers\/)?notebooks\//, 3],
    [/^(benchmarks|api)\//, -4],
  ],

  score: function ([docname, title, anchor, descr, score]) {
    const page = this.pages.find(([pattern]) => pattern.test(docname));
    return score + (page ? page[1] : 0);
  },
};

// How the site's search ranks pages: those that explain first, what was measured and what changed last. Sphinx
// reads this in place of its own Scorer; all numbers but those of `score` are its own.
var Scorer = {
  score: (result) => {
    const page = result[0];
    const score = result[4];
    if (/^(CHANGELOG|CONTRIBUTING)/.test(page) || /sg_execution_times$/.test(page)) return score - 12;
    if (/^benchmarks\//.test(page)) return score - 6;
    if (/^docs\/(proofs|examples|api)\//.test(page)) return score - 2;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

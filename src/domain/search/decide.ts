/**
 * Whether what was found answers the question, or nothing fits. A wrong skill is worse than none, so this weighs
 * several signs. All of them come from the question, from how frequent its terms are, and from the best documents of
 * the scope that is searched; never from what another tenant's library scores, or one could silence another.
 */

export type EvidenceTerm = {
  /** `weightOf` its document frequency. */
  readonly weight: number;
  /** Documents that hold it, of those that are heard: at most ten of each namespace of the public registry. */
  readonly df: number;
  /** Documents of the searched scope that hold it. */
  readonly inScope: number;
};

export type EvidenceHit = {
  /** What the document holds: the place of the term in `terms`, and the document's posting for it. */
  readonly matched: readonly { readonly term: number; readonly impact: number; readonly head: number }[];
};

export type Evidence = {
  readonly terms: readonly EvidenceTerm[];
  /** Documents that are heard, and those of the searched scope. */
  readonly documents: number;
  readonly inScope: number;
  /** The best documents, best first; two are enough. */
  readonly best: readonly EvidenceHit[];
};

export type Signals = {
  /** Of the question's weight, what the best hit covers: 1 if each term stood in its name. */
  readonly share: number;
  /** The same for all but the body. */
  readonly head: number;
  /** What the best of so many documents would cover by chance. */
  readonly chance: number;
  /** How far the share stands above that chance; 0 is no better, and longer questions do not stand lower. */
  readonly standing: number;
  /** How far above the second, as a share of the question's weight. */
  readonly lead: number;
  /** How much more frequent the question's terms are in the scope than in the registry: 0 no more, 1 only there. */
  readonly home: number;
  /** Of the question's weight, the part that the registry or the scope has ever seen. */
  readonly known: number;
  /** Terms of the question. */
  readonly terms: number;
};

export type Decision = { isAnswer: boolean; confidence: number; evidence: Signals };

/** The mean impact of what best hits match, on public skills; of all postings it is 0.3, but the best are not average. */
const usualImpact = 0.4;
/** Terms are not independent, and the bound for the best of n is an upper one: so much of it is met in practice. */
const chanceShare = 0.75;
/** Of a standing's chance, what any question has: without it, a rare word's single mention would seem a miracle. */
const leastChance = 0.01;
/** A head that covers so much of a question is head enough. */
const enoughHead = 0.1;
/** What `home` is of questions that are foreign to a scope, in the mean; of those that fit it is about 0.4. */
const foreignHome = 0.15;
/**
 * Logistic weights of the signs, for as many questions that fit as do not. The order of magnitude is fitted, with each
 * library left out in turn; the places after that made no difference, so they are round.
 */
const weights = { offset: -2.1, standing: 3.5, home: 2.6, head: 0.7, unknown: -1 };
/**
 * The least confidence to answer with: three foreign questions to one that fits. Agents see that a card does not fit,
 * but not what they were never shown.
 */
export const minConfidence = 0.25;

export function decide(evidence: Evidence): Decision {
  const signals = signalsOf(evidence);
  const { share, head, standing, home } = signals;
  // Where the scope is the registry, nothing can be more at home in it than elsewhere.
  const outside = 1 - frequency(evidence.inScope, evidence.documents);
  const sum =
    weights.offset +
    weights.standing * standing +
    weights.home * (home - foreignHome) * outside +
    weights.head * Math.min(1, head / enoughHead) +
    weights.unknown * (1 - signals.known);
  const confidence = share > 0 ? rounded(1 / (1 + Math.exp(-sum))) : 0;
  return { isAnswer: confidence >= minConfidence, confidence, evidence: signals };
}

function signalsOf({ terms, documents, inScope, best }: Evidence): Signals {
  const total = sumOf(terms, ({ weight }) => weight);
  const known = sumOf(terms, (term) => (isKnown(term) ? term.weight : 0));
  const scale = Math.max(1, total);
  const covered = best.map(({ matched }) => sumOf(matched, ({ term, impact }) => terms[term]!.weight * impact) / 1_000);
  const inHead = sumOf(best[0]?.matched ?? [], ({ term, head }) => terms[term]!.weight * head) / 1_000;
  const share = (covered[0] ?? 0) / scale;
  const chance = chanceOf(terms, documents, inScope) / scale;
  return {
    share: rounded(share),
    head: rounded(inHead / scale),
    chance: rounded(chance),
    standing: rounded((share - chance) / Math.sqrt(chance + leastChance)),
    lead: rounded(((covered[0] ?? 0) - (covered[1] ?? 0)) / scale),
    home: rounded(homeOf(terms, documents, inScope) / Math.max(1, known)),
    known: rounded(known / Math.max(1, total)),
    terms: terms.length,
  };
}

/**
 * The mean and the spread of what a random document of the registry covers, and of these the best of as many as the
 * scope has: the largest of n normal numbers is about √(2 ln n) spreads above the mean.
 */
function chanceOf(terms: readonly EvidenceTerm[], documents: number, inScope: number): number {
  const parts = terms.map((term) => ({ worth: term.weight * usualImpact, p: frequency(term.df, documents) }));
  const mean = sumOf(parts, ({ worth, p }) => worth * p);
  const variance = sumOf(parts, ({ worth, p }) => worth ** 2 * p * (1 - p));
  return chanceShare * (mean + Math.sqrt(variance * 2 * Math.log(inScope + 1)));
}

function homeOf(terms: readonly EvidenceTerm[], documents: number, inScope: number): number {
  return sumOf(terms, (term) => {
    const [here, anywhere] = [frequency(term.inScope, inScope), frequency(term.df, documents)];
    return here > anywhere ? (term.weight * (here - anywhere)) / (here + anywhere) : 0;
  });
}

function isKnown({ df, inScope }: EvidenceTerm): boolean {
  return df > 0 || inScope > 0;
}

function frequency(holding: number, documents: number): number {
  return Math.min(1, holding / Math.max(1, documents));
}

function sumOf<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

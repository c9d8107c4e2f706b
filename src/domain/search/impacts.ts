import { maxIndexedBodyLength, maxIndexedFieldLength, maxTermsPerDocument } from "../limits.ts";
import { termsOf } from "./words.ts";

/**
 * A document → how much each of its terms says about it, in thousandths: BM25F, whose saturation and lengths are
 * fixed numbers here instead of averages of a corpus. So an impact is known at publish and stays true whatever else
 * is published, and no tenant can move the ranking of another by what it stores.
 */

export type SearchDocument = {
  readonly name: string;
  /** The folders and the name; of a skill at `billing/refunds` the folders add billing. */
  readonly path: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly triggers: readonly string[];
  readonly examples: readonly string[];
  readonly body: string;
};

type Field = {
  /** What one occurrence is worth in a field of usual length. */
  readonly weight: number;
  /** How far a longer field dilutes what it says: 0 not at all, 1 in proportion. */
  readonly dilution: number;
  /** The usual number of terms, a round number near the mean of some 5,000 public skills. */
  readonly usualTerms: number;
  /** More terms than this dilute no further. */
  readonly mostTerms?: number;
};

/** Nineteen of twenty names have at most four terms; a longer one must not sink below what a description can buy. */
const nameField: Field = { weight: 8, dilution: 0.3, usualTerms: 2, mostTerms: 4 };
const pathField: Field = { weight: 1, dilution: 0.3, usualTerms: 2 };
const descriptionField: Field = { weight: 2, dilution: 0.2, usualTerms: 25 };
const tagsField: Field = { weight: 2, dilution: 0.3, usualTerms: 5 };
/** Words that the author says should lead here: a second description. */
const triggersField: Field = { weight: 2, dilution: 0.2, usualTerms: 25 };
/** Whole prompts, most of whose words are about the example and not about the skill. */
const examplesField: Field = { weight: 1, dilution: 0.2, usualTerms: 25 };
const bodyField: Field = { weight: 0.5, dilution: 0.6, usualTerms: 400 };

/** Where the use of a further occurrence halves (k1 of BM25). */
const saturation = 1.2;
/**
 * What all fields but the name can add together is less than this, whatever they repeat. One occurrence in a name adds
 * at least 6.15: a name match cannot be bought by stuffing a description.
 */
const maxOutsideName = 6;
/** Of an impact, what name and description alone decide: a body mentions much that its skill is not about. */
const headShare = 0.3;

export type Impacts = Record<string, [impact: number, head: number]>;

/** For each term: its impact in the whole document, and in all that is not its body. */
export function impactsOf(document: SearchDocument): Impacts {
  const name = strengthsOf(nameField, document.name);
  const head = new Map<string, number>();
  const folders = document.path.split("/").slice(0, -1).join(" ");
  addStrengths(head, strengthsOf(pathField, folders));
  addStrengths(head, strengthsOf(descriptionField, document.description));
  addStrengths(head, strengthsOf(tagsField, document.tags.join("\n")));
  addStrengths(head, strengthsOf(triggersField, document.triggers.join("\n")));
  addStrengths(head, strengthsOf(examplesField, document.examples.join("\n")));
  const body = strengthsOf(bodyField, document.body.slice(0, maxIndexedBodyLength), maxIndexedBodyLength);
  const terms = new Set([...name.keys(), ...head.keys(), ...body.keys()]);
  const rows = [...terms].map((term): [string, [number, number]] => {
    const [inName, inHead, inBody] = [name.get(term) ?? 0, head.get(term) ?? 0, body.get(term) ?? 0];
    const headImpact = saturated(inName + bounded(inHead));
    const impact = headShare * headImpact + (1 - headShare) * saturated(inName + bounded(inHead + inBody));
    return [term, [Math.round(1_000 * impact), Math.round(1_000 * headImpact)]];
  });
  return Object.fromEntries(strongest(rows));
}

function strengthsOf(field: Field, text: string, maxLength = maxIndexedFieldLength): Map<string, number> {
  const terms = termsOf(text.slice(0, maxLength));
  const diluting = Math.min(terms.length, field.mostTerms ?? terms.length);
  const length = 1 - field.dilution + (field.dilution * diluting) / field.usualTerms;
  const strengths = new Map<string, number>();
  for (const term of terms) strengths.set(term, (strengths.get(term) ?? 0) + field.weight / length);
  return strengths;
}

function addStrengths(sums: Map<string, number>, added: Map<string, number>): void {
  for (const [term, strength] of added) sums.set(term, (sums.get(term) ?? 0) + strength);
}

function bounded(strength: number): number {
  return (maxOutsideName * strength) / (maxOutsideName + strength);
}

function saturated(strength: number): number {
  return strength / (saturation + strength);
}

/** Equal impacts are ordered by their term, so that the same document always keeps the same terms. */
function strongest(rows: [string, [number, number]][]): [string, [number, number]][] {
  const found = rows.filter(([, [impact]]) => impact > 0);
  if (found.length <= maxTermsPerDocument) return found;
  return found.sort((a, b) => b[1][0] - a[1][0] || (a[0] < b[0] ? -1 : 1)).slice(0, maxTermsPerDocument);
}

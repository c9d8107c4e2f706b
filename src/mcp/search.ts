import { decide } from "../domain/search/decide.ts";
import type { Evidence } from "../domain/search/decide.ts";
import { questionOf } from "../domain/search/question.ts";
import { exactTerm } from "../domain/search/terms.ts";
import { findSkills, findTools } from "../storage/finding.ts";
import type { Judged, Question, SearchRange, SearchRow, ToolRow } from "../storage/finding.ts";
import type { Visit } from "./visit.ts";

/** Changes whenever the same catalogue, question and rights may come to another order, score or decision. */
export const rankingVersion = 1;

/** What an address has for a question, and whether any of it is close enough to be shown. */
export interface Found<Row> {
  /** False: nothing fits. `rows` are then only for what may be said of the whole, never to be shown. */
  isAnswer: boolean;
  rows: Row[];
  /** Why: numbers about the question and the best row, which name neither a skill nor an address. */
  evidence: Record<string, unknown>;
}

export function searchSkillsHere(visit: Visit, query: string, range: SearchRange): Promise<Found<SearchRow>> {
  return searchHere(query, (question) => findSkills(visit.catalog, question, range));
}

export function searchToolsHere(visit: Visit, query: string, range: SearchRange): Promise<Found<ToolRow>> {
  return searchHere(query, (question) => findTools(visit.catalog, question, range));
}

async function searchHere<Row extends Judged>(
  query: string,
  find: (question: Question) => Promise<Row[]>,
): Promise<Found<Row>> {
  const words = questionOf(query).map(({ term }) => term);
  const rows = await find({ terms: words, exact: exactTerm(query) });
  // Where no word is met, there is nothing to be said but that.
  if (rows.length === 0) return { isAnswer: false, rows, evidence: { confidence: 0, share: 0, terms: words.length } };
  const { isAnswer, confidence, evidence } = decide(evidenceOf(rows, words.length));
  // Whoever names a skill by its name means that skill.
  const isNamed = rows[0]?.is_exact === 1;
  return { isAnswer: isAnswer || isNamed, rows, evidence: { confidence: isNamed ? 1 : confidence, ...evidence } };
}

function evidenceOf(rows: readonly Judged[], terms: number): Evidence {
  const question = JSON.parse(rows[0]!.question) as KnownQuestion;
  const { documents, inScope } = question;
  const share = inScope / Math.max(1, documents);
  return {
    documents,
    inScope,
    // A common word that nobody counted here is taken to be as common here as anywhere.
    terms: question.terms.slice(0, terms).map(([weight, df, held]) => ({ weight, df, inScope: held ?? df * share })),
    best: rows.flatMap(({ matched }) => (matched === null ? [] : [hitOf(matched)])),
  };
}

interface KnownQuestion {
  documents: number;
  inScope: number;
  terms: [weight: number, df: number, held: number | null][];
}

function hitOf(matched: string) {
  const rows = JSON.parse(matched) as [term: number, impact: number, head: number][];
  return { matched: rows.map(([term, impact, head]) => ({ term, impact, head })) };
}

import { describe, expect, it } from "vitest";

import { maxQuestionTerms, maxTermsPerDocument } from "../../src/domain/limits.ts";
import { decide, minConfidence } from "../../src/domain/search/decide.ts";
import type { Evidence } from "../../src/domain/search/decide.ts";
import { impactsOf } from "../../src/domain/search/impacts.ts";
import type { SearchDocument } from "../../src/domain/search/impacts.ts";
import { questionOf, weightOf } from "../../src/domain/search/question.ts";
import { termsOf } from "../../src/domain/search/words.ts";

const documentOf = (parts: Partial<SearchDocument>): SearchDocument => ({
  name: "unnamed",
  path: "unnamed",
  description: "",
  tags: [],
  triggers: [],
  examples: [],
  body: "",
  ...parts,
});

describe("terms", () => {
  it.each<[title: string, text: string, terms: string[]]>([
    ["camelCase gives its parts and the whole", "PullRequest", ["pull", "request", "pullrequest"]],
    ["capitals in a row are one part", "parseHTMLFile", ["pars", "html", "file", "parsehtmlfil"]],
    ["a brand is met in small letters too", "GitHub github", ["git", "hub", "github", "github"]],
    ["kebab-case is split", "fill-pdf-form", ["fill", "pdf", "form"]],
    ["snake_case is split", "fill_pdf_form", ["fill", "pdf", "form"]],
    ["digits stay with their letters", "utf8 sha256", ["utf8", "sha256"]],
    ["a version's digit is a term", ".NET 8", ["net", "8"]],
    ["a language's sign is part of its name", "C# and C++", ["c#", "c++"]],
    ["plurals and endings meet", "deploys deployed deploying", ["deploi", "deploi", "deploi"]],
    ["order and repetitions are kept", "merge, split, merge", ["merg", "split", "merg"]],
    ["stop-words and lone letters are left out", "please help me to use the skill x", []],
    ["apostrophes leave no rests", "don't you'll it's we've", []],
    ["full-width letters are their usual ones", "ＰＤＦ　ｆｏｒｍ", ["pdf", "form"]],
    ["ligatures are letters", "ﬁle", ["file"]],
    ["Han runs become bigrams", "数据库迁移", ["数据", "据库", "库迁", "迁移"]],
    ["a lone Han character is a term", "查 表", ["查", "表"]],
    ["Hiragana, Katakana and Hangul too", "サーバー 한국어", ["サー", "ーバ", "バー", "한국", "국어"]],
    ["scripts that meet are parted", "PDF文件 v2版本", ["文件", "pdf", "版本", "v2"]],
    ["other scripts are words", "Привет, мир", ["привет", "мир"]],
    ["accents stay", "café déjà", ["café", "déjà"]],
    ["combining marks stay with their letter", "हिन्दी", ["हिन्दी"]],
    ["emoji and signs are nothing", "🚀 ❤\uFE0F -- * () \u0000", []],
    ["operators of FTS are words", 'pdf NEAR/2 form* OR "x"', ["pdf", "near", "2", "form"]],
    ["SQL is words", "'; DROP TABLE skills; --", ["drop", "tabl"]],
    ["JSON is words", '{"key":["value",1]}', ["kei", "valu", "1"]],
    ["keys and digests are left out", `${"a1".repeat(40)} end`, ["end"]],
    ["nothing is nothing", "", []],
  ])("%s", (_, text, terms) => expect(termsOf(text)).toEqual(terms));
});

describe("impacts", () => {
  const inName = (words: string, term: string) => impactsOf(documentOf({ name: words, path: words }))[term]![0];

  it("are integers from 1 to 1000, the head's from 0", () => {
    const impacts = Object.values(
      impactsOf(
        documentOf({
          name: "pdf-forms",
          description: "Fill forms. ".repeat(50),
          body: "Fields and forms. ".repeat(99),
        }),
      ),
    );
    expect(impacts.length).toBeGreaterThan(3);
    for (const [impact, head] of impacts) {
      expect([Number.isInteger(impact), Number.isInteger(head)]).toEqual([true, true]);
      expect(impact >= 1 && impact <= 1_000 && head >= 0 && head <= 1_000).toBe(true);
    }
  });

  it("rank name over description over body", () => {
    const name = impactsOf(documentOf({ name: "invoice" }))["invoic"]!;
    const description = impactsOf(documentOf({ description: "An invoice." }))["invoic"]!;
    const body = impactsOf(documentOf({ body: "An invoice." }))["invoic"]!;
    expect(name[0]).toBeGreaterThan(description[0]);
    expect(description[0]).toBeGreaterThan(body[0]);
    expect(name[1]).toBe(name[0]);
    expect(body[1]).toBe(0);
  });

  it.each<[string, Partial<SearchDocument>]>([
    ["description", { description: "invoice ".repeat(500) }],
    ["tags", { tags: Array.from({ length: 500 }, () => "invoice") }],
    ["triggers", { triggers: Array.from({ length: 500 }, () => "invoice") }],
    ["examples", { examples: Array.from({ length: 500 }, () => "invoice") }],
    ["path", { path: "invoice/invoice/invoice/invoice/unnamed" }],
    ["body", { body: "invoice ".repeat(5_000) }],
    [
      "all of them",
      {
        description: "invoice ".repeat(500),
        tags: ["invoice"],
        triggers: ["invoice"],
        examples: ["invoice"],
        path: "invoice/unnamed",
        body: "invoice ".repeat(5_000),
      },
    ],
  ])("cannot be bought: stuffing %s stays below one occurrence in a name", (_, parts) => {
    const stuffed = impactsOf(documentOf(parts))["invoic"]![0];
    expect(stuffed).toBeLessThan(inName("invoice-for-small-firms-abroad", "invoic"));
  });

  it("do not depend on a path's last part, which is the name", () => {
    expect(impactsOf(documentOf({ path: "billing/unnamed" }))["bill"]![1]).toBeGreaterThan(0);
    expect(impactsOf(documentOf({ name: "refund", path: "refund" }))).toEqual(
      impactsOf(documentOf({ name: "refund", path: "" })),
    );
  });

  it("are bounded in number, and keep the strongest", () => {
    const words = Array.from({ length: 2_000 }, (_, index) => `w${index}`);
    const impacts = impactsOf(documentOf({ name: "kept", description: "described", body: words.join(" ") }));
    expect(Object.keys(impacts)).toHaveLength(maxTermsPerDocument);
    expect(Object.keys(impacts)).toEqual(expect.arrayContaining(["kept", "describ"]));
  });

  it("read a body only at its beginning, and quickly", () => {
    expect(impactsOf(documentOf({ body: `${"x ".repeat(5_000)}zebra` }))["zebra"]).toBeUndefined();
    const started = performance.now();
    impactsOf(documentOf({ body: "aB".repeat(500_000), description: "aB".repeat(500_000) }));
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it("survive names of Object.prototype", () => {
    const impacts = impactsOf(documentOf({ description: "constructor toString __proto__ hasOwnProperty" }));
    expect(Object.keys(impacts)).toContain("constructor");
    expect(Object.keys(impacts)).toContain("proto");
  });
});

describe("questions", () => {
  it("name each term once, in order, with its count", () => {
    expect(questionOf("merge PDF files, then merge again")).toEqual([
      { term: "merg", count: 2 },
      { term: "pdf", count: 1 },
      { term: "file", count: 1 },
      { term: "again", count: 1 },
    ]);
  });

  it("are bounded", () => {
    const terms = questionOf(Array.from({ length: 500 }, (_, index) => `w${index % 200}`).join(" "));
    expect(terms).toHaveLength(maxQuestionTerms);
    expect(terms[0]).toEqual({ term: "w0", count: 3 });
  });

  it.each<[df: number, documents: number, weight: number]>([
    [0, 0, 693],
    [1, 1, 288],
    [0, 12, 3258],
    [1, 12, 2159],
    [12, 12, 39],
    [50, 12, 10],
    [1, 5_000, 8112],
    [2_500, 5_000, 693],
  ])("a term in %i of %i documents weighs %i", (df, documents, weight) => expect(weightOf(df, documents)).toBe(weight));
});

/** A small registry as the database would answer: a posting for each term, and evidence for a question. */
function ask(query: string, documents: readonly SearchDocument[], scope = documents): Evidence {
  const registry = documents.map(impactsOf);
  const library = scope.map(impactsOf);
  const holding = (rows: typeof registry, term: string) => rows.filter((row) => Object.hasOwn(row, term)).length;
  const terms = questionOf(query).map(({ term }) => {
    const df = holding(registry, term);
    return { term, df, weight: weightOf(df, registry.length), inScope: holding(library, term) };
  });
  const hits = library.map((row) => {
    const matched = terms.flatMap(({ term }, place) =>
      Object.hasOwn(row, term) ? [{ term: place, impact: row[term]![0], head: row[term]![1] }] : [],
    );
    return { matched, score: matched.reduce((sum, { term, impact }) => sum + terms[term]!.weight * impact, 0) };
  });
  const best = hits.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
  return { terms, documents: registry.length, inScope: library.length, best: best.slice(0, 5) };
}

/** A dozen skills, as a team has that begins. */
const dozen = (
  [
    ["pdf-forms", "Fill in PDF forms, extract their fields and flatten the result.", "Read the form. List its fields."],
    [
      "deploy-worker",
      "Deploy a Cloudflare Worker with wrangler and roll back a bad release.",
      "Run the checks, then deploy.",
    ],
    ["code-review", "Review a pull request for bugs, style and missing tests.", "Read the diff first."],
    [
      "sql-migrations",
      "Write safe SQL migrations for Postgres and check them for locks.",
      "Never rewrite a large table.",
    ],
    ["release-notes", "Write release notes from merged pull requests and their labels.", "Group by label."],
    ["invoice-refunds", "Process refunds of invoices in the billing system.", "Find the invoice, check the amount."],
    ["excel-reports", "Build spreadsheets with formulas, charts and pivot tables.", "Use named ranges."],
    ["incident-report", "Write a postmortem of an outage with timeline and actions.", "Collect the timeline."],
    ["translate-docs", "Translate documentation and keep code blocks untouched.", "Keep the glossary."],
    ["load-testing", "Load test an HTTP service and read the latency percentiles.", "Warm up first."],
    ["brand-voice", "Write marketing texts in the voice of our brand.", "Short sentences."],
    ["onboarding-checklist", "Prepare laptop, accounts and first week of a new colleague.", "Order the laptop early."],
  ] as const
).map(([name, description, body]) => documentOf({ name, path: name, description, body }));

describe("decisions", () => {
  it.each([
    "fill in a PDF form",
    "deploy",
    "review my pull request",
    "refund an invoice",
    "pdf",
    "load test our HTTP service",
    "translate the documentation",
    `Our Postgres database has a table orders with 400 million rows. I have to add a NOT NULL column with a default and
     an index. Please write the SQL migrations so that nothing locks the table for long, and check them:
     ALTER TABLE orders ADD COLUMN region text NOT NULL DEFAULT 'eu'; CREATE INDEX orders_region ON orders (region);`,
  ])("answer what fits a dozen skills: %s", (query) => expect(decide(ask(query, dozen)).isAnswer).toBe(true));

  it.each([
    "What is the capital of France?",
    "Recommend a restaurant near the river for tonight",
    "Tune my guitar",
    `My sourdough does not rise. I feed the starter twice a day with rye flour, keep it at 24 degrees, and the dough
     stays flat after twelve hours. What do I have to change about hydration, flour or temperature?`,
    "",
    "the of and",
    "\u0000 🚀 ' OR 1=1 --",
    "xyzzy",
  ])("abstain where nothing fits a dozen skills: %s", (query) => {
    expect(decide(ask(query, dozen)).isAnswer).toBe(false);
  });

  it("abstain when only a body mentions it", () => {
    const { isAnswer, evidence } = decide(ask("warm up before a marathon in Lisbon", dozen));
    expect(evidence.share).toBeGreaterThan(0);
    expect([evidence.head, isAnswer]).toEqual([0, false]);
  });

  it("give a confidence from 0 to 1 with four decimals, and numbers as evidence", () => {
    const { confidence, evidence, isAnswer } = decide(ask("fill in a PDF form", dozen));
    expect(isAnswer).toBe(confidence >= minConfidence);
    expect(confidence).toBe(Math.round(confidence * 10_000) / 10_000);
    expect(Object.values(evidence).every((value) => Number.isFinite(value))).toBe(true);
    expect(decide({ terms: [], documents: 0, inScope: 0, best: [] })).toMatchObject({ isAnswer: false, confidence: 0 });
  });

  it("do not change with what else a scope holds, as long as the best two and the frequencies stay", () => {
    const evidence = ask("refund an invoice", dozen);
    expect(decide({ ...evidence, best: evidence.best.slice(0, 2) })).toEqual(decide(evidence));
  });

  it("grow surer as more of the question is covered", () => {
    const confidenceOf = (query: string) => decide(ask(query, dozen)).confidence;
    expect(confidenceOf("refund invoices")).toBeGreaterThan(confidenceOf("refund my concert tickets"));
    expect(confidenceOf("refund my concert tickets")).toBeGreaterThan(confidenceOf("buy concert tickets"));
  });
});

describe("a name, however long", () => {
  it("weighs more than whatever another document repeats", () => {
    const name = "monthly-supplier-reconciliation-and-dunning-letters-for-overdue-bills";
    const honest = impactsOf(documentOf({ name, path: name }));
    const repeated = "dunning ".repeat(127);
    const stuffed = impactsOf(
      documentOf({
        description: repeated,
        tags: [repeated],
        triggers: [repeated],
        examples: [repeated],
        body: repeated,
      }),
    );
    const [term] = termsOf("dunning");
    expect(honest[term!]![0]).toBeGreaterThan(stuffed[term!]![0]);
  });
});

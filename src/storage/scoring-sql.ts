import { sightSql } from "./viewer.ts";

/**
 * The ranking as SQL: from the words of a question to the documents that hold them, best first, in one statement. The
 * parameters of the viewer are followed by
 *
 *   ?5 the namespace of the address, or NULL · ?6 JSON array of terms · ?7 '' for skills, '/' for tools
 *   ?8 rows · ?9 the term of an exact name · ?10 postings to read · ?11 documents to look at
 *   ?12 ?13 ?14 score, namespace and path of the row to go on behind, or NULL (search-sql.ts)
 *
 * A parameter stands in a LIMIT only as (SELECT ?8): SQLite plans a statement anew whenever the number in its LIMIT is
 * bound again, and planning these takes longer than running them.
 *
 * All sums are of integers, so that they are the same in whatever order they are made: `impact` and `head` in
 * thousandths, `weight` in thousandths of the inverse document frequency.
 */
export type Reached = "everything" | "namespace" | "collection";

/** Which of the statements: what is searched, and whether whoever asks has a credential. */
export interface Asked {
  reached: Reached;
  isStranger: boolean;
}

/**
 * `shelves`: what is read. Besides what everybody finds that is what the caller's own namespaces keep to themselves; the
 * operator reads all. `counted`: what frequencies are counted over, which is never more than the caller may read, so
 * a token that is held to a path, and a read link, count what everybody finds.
 */
const shelvesSql = `
shelves (shelf) AS MATERIALIZED (
  SELECT ?7
  UNION ALL
  SELECT ?7 || namespace FROM rights
  WHERE NOT (SELECT everything FROM viewer) AND (?5 IS NULL OR namespace = ?5) AND (?7 = '' OR below = '')
  UNION ALL
  SELECT ?7 || n.name FROM viewer v CROSS JOIN namespaces n WHERE v.everything AND (?5 IS NULL OR n.name = ?5)
),
counted (shelf) AS MATERIALIZED (
  SELECT ?7 UNION ALL SELECT ?7 || namespace FROM rights WHERE kind = 'token' AND below = ''
),
size (docs, heard) AS MATERIALIZED (
  SELECT coalesce(sum(t.docs), 0), coalesce(sum(t.heard), 0) FROM counted c CROSS JOIN search_terms t ON t.shelf = c.shelf AND t.term = ''
)`;

/**
 * `weighted`: what each term is worth, as `weightOf` (domain/search/question.ts) says. `leads`: the terms that find documents, rarest first, as long as their
 * postings stay below ?10; the others only add to what was found, so that common words cannot make a search slow.
 */
const weightsSql = `
asked (place, term) AS MATERIALIZED (SELECT key, value FROM json_each(?6)),
frequent (place, term, docs, heard) AS MATERIALIZED (
  SELECT a.place, a.term, coalesce(sum(t.docs), 0), coalesce(sum(t.heard), 0)
  FROM asked a CROSS JOIN counted c LEFT JOIN search_terms t ON t.shelf = c.shelf AND t.term = a.term GROUP BY a.place
),
weighted (place, term, docs, heard, weight) AS MATERIALIZED (
  SELECT f.place, f.term, f.docs, f.heard,
    CAST(round(1000 * ln(1 + (max(s.docs - f.docs, 0) + 0.5) / (f.docs + 0.5))) AS INTEGER)
  FROM frequent f CROSS JOIN size s
),
led (place, term, docs, heard, weight, leads) AS MATERIALIZED (
  SELECT place, term, docs, heard, weight,
    sum(min(docs, (SELECT docs FROM scope))) OVER (ORDER BY weight DESC, term) <= ?10 OR row_number() OVER (ORDER BY weight DESC, term) = 1
  FROM weighted
)`;

/**
 * Whoever is held to a path finds below it, and what everybody finds. Strangers have no path, and their searches are
 * not slowed down by the question.
 */
const underPathSql = `(p.shelf IN ('', '/') OR coalesce((SELECT below FROM viewer), '') = ''
  OR EXISTS (SELECT 1 FROM search_docs d WHERE d.id = p.doc
    AND substr(d.path || '/', 1, length((SELECT below FROM viewer))) = (SELECT below FROM viewer)))`;

/**
 * In all of the registry: the postings of the leading terms, in the order of the index. What the scope holds is what is
 * counted.
 */
const hitsAnywhereSql = (seen: string) => `
hits (doc, score) AS MATERIALIZED (
  SELECT p.doc, sum(l.weight * p.impact)
  FROM shelves s CROSS JOIN led l CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = l.term
  WHERE l.leads AND ${seen} GROUP BY p.doc
),
held (place, docs) AS MATERIALIZED (SELECT place, heard FROM weighted),
named (doc) AS MATERIALIZED (
  SELECT p.doc FROM shelves s CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = ?9 WHERE ${seen}
)`;

/** Where postings are few: kept, to be added up by document and counted by term. */
const summedSql = `
hits (doc, score) AS MATERIALIZED (SELECT doc, sum(worth) FROM met GROUP BY doc),
held (place, docs) AS MATERIALIZED (SELECT place, count(*) FROM met GROUP BY place)`;

const metInNamespace = (more: string) => `
  SELECT l.place, l.weight * p.impact AS worth, p.doc
  FROM ${more}shelves s CROSS JOIN led l
  CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = l.term AND p.namespace = ?5`;

const hitsInNamespaceSql = (seen: string) => `
met (place, worth, doc) AS MATERIALIZED (
  ${metInNamespace("")} WHERE l.leads AND ${seen}
),${summedSql},
named (doc) AS MATERIALIZED (
  SELECT p.doc FROM shelves s
  CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = ?9 AND p.namespace = ?5
  WHERE ${seen}
)`;

/**
 * In a collection: its documents are known and few. Under a common word each of them is looked up; of a rare one all
 * postings are read, which are fewer. One of all skills of its namespace (`opened`) is searched as the namespace is.
 */
const hitsInCollectionSql = (seen: string) => `
met (place, worth, doc) AS MATERIALIZED (
  SELECT l.place, l.weight * p.impact, p.doc
  FROM led l CROSS JOIN picked k
  CROSS JOIN search_postings p ON p.shelf = k.shelf AND p.term = l.term AND p.namespace = k.namespace AND p.doc = k.doc
  WHERE l.leads AND l.docs > (SELECT docs FROM scope)
  UNION ALL
  SELECT l.place, l.weight * p.impact, p.doc
  FROM led l CROSS JOIN (SELECT DISTINCT shelf FROM picked) h
  CROSS JOIN search_postings p ON p.shelf = h.shelf AND p.term = l.term
  WHERE l.leads AND l.docs <= (SELECT docs FROM scope) AND p.doc IN (SELECT doc FROM picked)
  UNION ALL
  ${metInNamespace("opened o CROSS JOIN ")} WHERE o.is_all AND l.leads AND ${seen}
),${summedSql},
named (doc) AS MATERIALIZED (
  SELECT p.doc FROM picked k
  CROSS JOIN search_postings p ON p.shelf = k.shelf AND p.term = ?9 AND p.namespace = k.namespace AND p.doc = k.doc
  UNION ALL
  SELECT p.doc FROM opened o CROSS JOIN shelves s
  CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = ?9 AND p.namespace = ?5
  WHERE o.is_all AND ${seen}
)`;

/**
 * `best`: the documents worth a closer look, with every term that they hold. A document whose name is the question has
 * the highest score there is, one of each namespace: nobody fills an answer with namesakes.
 */
const bestSql = `
total (weight) AS MATERIALIZED (SELECT coalesce(sum(weight), 0) FROM weighted),
exact (doc) AS MATERIALIZED (
  SELECT doc FROM (
    SELECT e.doc, d.namespace, row_number() OVER (PARTITION BY d.namespace ORDER BY d.path) AS place
    FROM named e CROSS JOIN search_docs d ON d.id = e.doc)
  WHERE place = 1 ORDER BY namespace LIMIT (SELECT ?11)
),
found (doc, score, is_exact) AS MATERIALIZED (
  SELECT doc, 0, 1 FROM exact
  UNION ALL
  SELECT doc, score, 0 FROM (
    SELECT doc, score FROM hits WHERE doc NOT IN (SELECT doc FROM exact) ORDER BY score DESC, doc LIMIT (SELECT ?11))
),
best (doc, shelf, namespace, path, version, is_exact, score) AS MATERIALIZED (
  SELECT f.doc, d.shelf, d.namespace, d.path, d.version, f.is_exact,
    CASE
      WHEN f.is_exact THEN 1.0
      WHEN (SELECT weight FROM total) = 0 THEN 0.0
      ELSE round((f.score + coalesce((
        SELECT sum(l.weight * p.impact) FROM led l CROSS JOIN search_postings p
          ON p.shelf = d.shelf AND p.term = l.term AND p.namespace = d.namespace AND p.doc = f.doc
        WHERE NOT l.leads), 0)) / (1000.0 * (SELECT weight FROM total)), 4)
    END
  FROM found f CROSS JOIN search_docs d ON d.id = f.doc
)`;

/** Who is held to a path counts what lies below it, and what everybody finds. */
const sizeOfNamespace = `
  SELECT coalesce(sum(iif(s.shelf IN ('', '/') OR coalesce((SELECT below FROM viewer), '') = '',
    (SELECT docs FROM search_groups g WHERE g.shelf = s.shelf AND g.namespace = ?5),
    (SELECT count(*) FROM search_docs d WHERE d.namespace = ?5 AND d.shelf = s.shelf
      AND substr(d.path || '/', 1, length((SELECT below FROM viewer))) = (SELECT below FROM viewer)))), 0)
  FROM shelves s`;

/** How many documents are searched, which bounds the postings of any one term. */
const scopeSql: Readonly<Record<Reached, string>> = {
  everything: `scope (docs) AS MATERIALIZED (SELECT docs FROM size)`,
  namespace: `scope (docs) AS MATERIALIZED (${sizeOfNamespace})`,
  collection: `scope (docs) AS MATERIALIZED (
  SELECT iif((SELECT is_all FROM opened), (${sizeOfNamespace}), (SELECT count(*) FROM picked)))`,
};

const foundSql: Readonly<Record<Reached, (seen: string) => string>> = {
  everything: hitsAnywhereSql,
  namespace: hitsInNamespaceSql,
  collection: hitsInCollectionSql,
};

/**
 * Statements go on from here: `best` joined with what it is about, as `b`. `picked`: the CTEs that say what a collection
 * holds, needed where one is searched.
 */
export function scoringSql({ reached, isStranger }: Asked, picked: string): string {
  const held = reached === "collection" ? [picked] : [];
  const hits = foundSql[reached](isStranger ? "true" : underPathSql);
  return [sightSql, shelvesSql, ...held, scopeSql[reached], weightsSql, hits, bestSql].join();
}

/** What the best documents hold of each word, for the decision whether anything fits (domain/search/decide.ts). */
export const matchedSql = `(
  SELECT json_group_array(json_array(l.place, p.impact, p.head)) FROM led l CROSS JOIN search_postings p
    ON p.shelf = b.shelf AND p.term = l.term AND p.namespace = b.namespace AND p.doc = b.doc)`;

/**
 * JSON of what is known of the whole question: its terms in the order in which they were asked, each with its weight,
 * how many of those that are heard hold it, and how many of the scope (null where they were not looked at).
 */
export const questionJsonSql = (reached: Reached) => `(
  SELECT json_object('documents', (SELECT heard FROM size), 'inScope', (${reached === "everything" ? "SELECT heard FROM size" : "SELECT docs FROM scope"}),
    'terms', json((SELECT json_group_array(json_array(weight, heard, held)) FROM (
      SELECT l.weight, l.heard, iif(l.leads OR h.docs IS NOT NULL, coalesce(h.docs, 0), NULL) AS held
      FROM led l LEFT JOIN held h ON h.place = l.place ORDER BY l.place)))))`;

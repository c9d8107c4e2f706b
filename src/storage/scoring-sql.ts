import { sightSql } from "./viewer.ts";

/**
 * The ranking as SQL: from the words of a question to the documents that hold them, best first, in one statement. The
 * parameters of the viewer are followed by
 *
 *   ?5 the namespace of the address, or NULL · ?6 JSON array of terms · ?7 '' for skills, '/' for tools
 *   ?8 rows · ?9 the term of an exact name · ?10 postings to read · ?11 documents to look at
 *   ?12 ?13 ?14 score, namespace and path of the row to go on behind, or NULL (search-sql.ts)
 *
 * All sums are of integers, so that they are the same in whatever order they are made: `impact` and `head` in
 * thousandths, `weight` in thousandths of the inverse document frequency.
 */
export type Reached = "everything" | "namespace" | "collection";

/**
 * `shelves`: what is read. Besides what everybody finds that is what the caller's own namespace keeps to itself; the
 * operator reads all. `counted`: what frequencies are counted over, which is never more than the caller may read, so
 * a token that is held to a path, and a read link, count what everybody finds.
 */
const shelvesSql = `
shelves (shelf) AS MATERIALIZED (
  SELECT ?7
  UNION ALL
  SELECT ?7 || namespace FROM viewer
  WHERE namespace IS NOT NULL AND NOT everything AND (?5 IS NULL OR namespace = ?5) AND (?7 = '' OR below = '')
  UNION ALL
  SELECT ?7 || n.name FROM viewer v CROSS JOIN namespaces n WHERE v.everything AND (?5 IS NULL OR n.name = ?5)
),
counted (shelf) AS MATERIALIZED (
  SELECT ?7 UNION ALL SELECT ?7 || namespace FROM viewer WHERE namespace IS NOT NULL AND kind = 'token' AND below = ''
),
size (docs) AS MATERIALIZED (
  SELECT coalesce(sum(t.docs), 0) FROM counted c CROSS JOIN search_terms t ON t.shelf = c.shelf AND t.term = ''
)`;

/**
 * `weighted`: what each term is worth, as `weightOf` (domain/search/question.ts) says. `leads`: the terms that find documents, rarest first, as long as their
 * postings stay below ?10; the others only add to what was found, so that common words cannot make a search slow.
 */
const weightsSql = `
asked (place, term) AS MATERIALIZED (SELECT key, value FROM json_each(?6)),
frequent (place, term, docs) AS MATERIALIZED (
  SELECT a.place, a.term, coalesce((
    SELECT sum(t.docs) FROM counted c CROSS JOIN search_terms t ON t.shelf = c.shelf AND t.term = a.term), 0)
  FROM asked a
),
weighted (place, term, docs, weight) AS MATERIALIZED (
  SELECT f.place, f.term, f.docs, CAST(round(1000 * ln(1 + (max(s.docs - f.docs, 0) + 0.5) / (f.docs + 0.5))) AS INTEGER)
  FROM frequent f CROSS JOIN size s
),
led (place, term, docs, weight, leads) AS MATERIALIZED (
  SELECT place, term, docs, weight,
    sum(min(docs, (SELECT docs FROM scope))) OVER (ORDER BY weight DESC, term) <= ?10 OR row_number() OVER (ORDER BY weight DESC, term) = 1
  FROM weighted
)`;

/** Whoever is held to a path finds below it, and what everybody finds. */
const underPathSql = `(p.shelf IN ('', '/') OR coalesce((SELECT below FROM viewer), '') = ''
  OR EXISTS (SELECT 1 FROM search_docs d WHERE d.id = p.doc
    AND substr(d.path || '/', 1, length((SELECT below FROM viewer))) = (SELECT below FROM viewer)))`;

/**
 * In all of the registry: the postings of the leading terms, in the order of the index. What the scope holds is what is
 * counted.
 */
const hitsAnywhereSql = `
hits (doc, shelf, namespace, score) AS MATERIALIZED (
  SELECT p.doc, p.shelf, p.namespace, sum(l.weight * p.impact)
  FROM shelves s CROSS JOIN led l CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = l.term
  WHERE l.leads AND ${underPathSql} GROUP BY p.doc
),
held (place, docs) AS MATERIALIZED (SELECT place, docs FROM weighted),
exact (doc, shelf, namespace) AS MATERIALIZED (
  SELECT p.doc, p.shelf, p.namespace FROM shelves s CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = ?9
  WHERE ${underPathSql} LIMIT ?11
)`;

/** Where postings are few: kept, to be added up by document and counted by term. */
const summedSql = `
hits (doc, shelf, namespace, score) AS MATERIALIZED (
  SELECT doc, shelf, namespace, sum(worth) FROM met GROUP BY doc
),
held (place, docs) AS MATERIALIZED (SELECT place, count(*) FROM met GROUP BY place)`;

const metInNamespace = (more: string) => `
  SELECT l.place, l.weight * p.impact AS worth, p.doc, p.shelf, p.namespace
  FROM ${more}shelves s CROSS JOIN led l
  CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = l.term AND p.namespace = ?5`;

const hitsInNamespaceSql = `
met (place, worth, doc, shelf, namespace) AS MATERIALIZED (
  ${metInNamespace("")} WHERE l.leads AND ${underPathSql}
),${summedSql},
exact (doc, shelf, namespace) AS MATERIALIZED (
  SELECT p.doc, p.shelf, p.namespace
  FROM shelves s CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = ?9 AND p.namespace = ?5
  WHERE ${underPathSql} LIMIT ?11
)`;

/**
 * In a collection: its documents are known and few, so each is looked up under each term. One of all skills of its
 * namespace (`opened`) is searched as the namespace is.
 */
const hitsInCollectionSql = `
met (place, worth, doc, shelf, namespace) AS MATERIALIZED (
  SELECT l.place, l.weight * p.impact, p.doc, p.shelf, p.namespace
  FROM picked k CROSS JOIN led l
  CROSS JOIN search_postings p ON p.shelf = k.shelf AND p.term = l.term AND p.namespace = k.namespace AND p.doc = k.doc
  WHERE l.leads
  UNION ALL
  ${metInNamespace("opened o CROSS JOIN ")} WHERE o.is_all AND l.leads AND ${underPathSql}
),${summedSql},
exact (doc, shelf, namespace) AS MATERIALIZED (
  SELECT p.doc, p.shelf, p.namespace FROM picked k
  CROSS JOIN search_postings p ON p.shelf = k.shelf AND p.term = ?9 AND p.namespace = k.namespace AND p.doc = k.doc
  UNION ALL
  SELECT p.doc, p.shelf, p.namespace FROM opened o CROSS JOIN shelves s
  CROSS JOIN search_postings p ON p.shelf = s.shelf AND p.term = ?9 AND p.namespace = ?5
  WHERE o.is_all AND ${underPathSql}
)`;

/**
 * `best`: the documents worth a closer look, with every term that they hold. A document whose name is the question has
 * the highest score there is.
 */
const bestSql = `
total (weight) AS MATERIALIZED (SELECT coalesce(sum(weight), 0) FROM weighted WHERE docs > 0),
found (doc, shelf, namespace, score, is_exact) AS MATERIALIZED (
  SELECT doc, shelf, namespace, 0, 1 FROM exact
  UNION ALL
  SELECT doc, shelf, namespace, score, 0 FROM hits
  WHERE score >= coalesce((SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET ?11), 0)
    AND doc NOT IN (SELECT doc FROM exact)
),
best (doc, shelf, namespace, is_exact, score) AS MATERIALIZED (
  SELECT f.doc, f.shelf, f.namespace, f.is_exact,
    CASE
      WHEN f.is_exact THEN 1.0
      WHEN (SELECT weight FROM total) = 0 THEN 0.0
      ELSE round((f.score + coalesce((
        SELECT sum(l.weight * p.impact) FROM led l CROSS JOIN search_postings p
          ON p.shelf = f.shelf AND p.term = l.term AND p.namespace = f.namespace AND p.doc = f.doc
        WHERE NOT l.leads), 0)) / (1000.0 * (SELECT weight FROM total)), 4)
    END
  FROM found f
)`;

const sizeOfNamespace = `
  SELECT coalesce(sum(g.docs), 0) FROM shelves s CROSS JOIN search_groups g ON g.shelf = s.shelf AND g.namespace = ?5`;

/** How many documents are searched, which bounds the postings of any one term. */
const scopeSql: Readonly<Record<Reached, string>> = {
  everything: `scope (docs) AS MATERIALIZED (SELECT docs FROM size)`,
  namespace: `scope (docs) AS MATERIALIZED (${sizeOfNamespace})`,
  collection: `scope (docs) AS MATERIALIZED (
  SELECT iif((SELECT is_all FROM opened), (${sizeOfNamespace}), (SELECT count(*) FROM picked)))`,
};

const foundSql: Readonly<Record<Reached, string>> = {
  everything: hitsAnywhereSql,
  namespace: hitsInNamespaceSql,
  collection: hitsInCollectionSql,
};

/**
 * Statements go on from here: `best` joined with what it is about, as `b`. `picked`: the CTEs that say what a collection
 * holds, needed where one is searched.
 */
export function scoringSql(reached: Reached, picked: string): string {
  const held = reached === "collection" ? [picked] : [];
  return [sightSql, shelvesSql, ...held, scopeSql[reached], weightsSql, foundSql[reached], bestSql].join();
}

/** What the best documents hold of each word, for the decision whether anything fits (domain/search/decide.ts). */
export const matchedSql = `(
  SELECT json_group_array(json_array(l.place, p.impact, p.head)) FROM led l CROSS JOIN search_postings p
    ON p.shelf = b.shelf AND p.term = l.term AND p.namespace = b.namespace AND p.doc = b.doc)`;

/**
 * JSON of what is known of the whole question: its terms in the order in which they were asked, each with its weight,
 * the documents that hold it, and those of the scope that do (null where they were not looked at).
 */
export const questionJsonSql = `(
  SELECT json_object('documents', (SELECT docs FROM size), 'inScope', (SELECT docs FROM scope), 'terms',
    json((SELECT json_group_array(json_array(weight, docs, held)) FROM (
      SELECT l.weight, l.docs, iif(l.leads OR h.docs IS NOT NULL, coalesce(h.docs, 0), NULL) AS held
      FROM led l LEFT JOIN held h ON h.place = l.place ORDER BY l.place)))))`;

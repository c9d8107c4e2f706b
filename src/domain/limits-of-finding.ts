/**
 * The limits of finding: companion servers, the index, searches, and what is counted of them. limits.ts passes them on,
 * and is what everybody imports.
 */
const KiB = 1024;
const MiB = 1024 * KiB;

// Companion servers and their tools.
/** As long as the names of skills and namespaces. */
export const maxServerNameLength = 64;
/** What one skill can usefully drive; a host binds each of them with its schema. */
export const maxToolsPerSkill = 64;
/** The largest servers list some 1,500 tools; hosts take far fewer. */
export const maxToolsPerServer = 2_000;
/** Of 1,000 real tools three have more than 64 KiB, the largest 230; a larger one fills a model's context by itself. */
export const maxToolDefinitionBytes = 256 * KiB;
/** SQLite reads JSON of 1,000 levels; the deepest schemas that are known have about 20. */
export const maxToolDefinitionDepth = 100;
/** What a card keeps of a description: Claude Code cuts those of tools here. The definition has all of it. */
export const maxToolCardLength = 2_048;
export const maxServerSnapshotBytes = 4 * MiB;
/** D1 takes 2 MB in one parameter, and a snapshot travels in as many as it needs. */
export const maxToolChunkBytes = 900_000;
/** A company's services; each takes at most `maxServerSnapshotBytes`. */
export const maxServers = 50;
export const maxServerUrlLength = 2_048;
/** Names that a remark about an unknown tool offers instead. */
export const maxNearestTools = 5;

// Keeping the index: what one batch may take, so that none comes near the 30 s of a D1 statement.
export const maxSyncedDocs = 100;
/** Each is read from R2 and cut into words, some milliseconds of CPU. */
export const maxReindexedReleases = 25;
export const maxReindexedTools = 200;
export const maxReindexedTerms = 500;
/** Batches that a run of the clock takes of these: 500 reads of R2 and 100 queries, of the 1,000 that it has of each. */
export const maxIndexBatches = 20;

// Words and documents; src/domain/search.
/**
 * Distinct terms that one search looks up, the first ones: a prompt says what it wants before it pastes its code, and
 * each term costs the reading of its postings. Real prompts of 100 words have about 60, so this cuts only pasted files;
 * half as many would cost a point of nDCG@10.
 */
export const maxQuestionTerms = 64;
/** What a body says after so much is detail: its beginning finds as well as the whole, and the index stays small. */
export const maxIndexedBodyLength = 6_000;
/** So much of each other field, several times what honest ones hold, so that one document cannot cost seconds. */
export const maxIndexedFieldLength = 4_000;
/** Nine of ten skills have fewer terms; of the others the weakest go, which changes no measured ranking. */
export const maxTermsPerDocument = 320;
/** Longer runs are keys, digests and base64, which nobody asks for and which would fill the index. */
export const maxWordLength = 40;

// Search.
/** Code points of a query: a task in plain words, and a few lines of what is at hand. */
export const maxQueryLength = 512;
export const maxSearchResults = 25;
export const defaultSearchResults = 8;
/**
 * Postings that one search reads to find documents, some milliseconds of SQLite. Past it the commonest words of the
 * query only help to order what its rarer ones found, which at 5,000 skills changes no measured order.
 */
export const maxPostingsRead = 5_000;
/** Documents of which a search looks at rights and every word: eight times what it may show. */
export const maxJudgedDocuments = 200;
/** Of the best score: what is below is no answer to the same question, and would only cost the model room. */
export const minScoreShare = 0.3;
/** Groups that one answer of list_groups holds, and that an abstention names. */
export const maxGroupsListed = 50;
export const nearestGroupsShown = 3;
/** How many of the best rows of a search without an answer say where one may look. */
export const nearestRows = 10;
/** Groups that instructions name, as far as the first `maxFirstInstructions` characters have room for them. */
export const instructedGroups = 10;
export const maxFirstInstructions = 512;
/** MCP: what a completion may hold. */
export const maxCompletions = 100;
/** A file larger than this is not put into a tool result, where it would fill the model's context. */
export const maxToolFileBytes = 256 * KiB;

// What is counted of searches and reads.
/** How long an isolate collects what it will write down; default of a Worker var, which counts for at most this. */
export const defaultTallyPauseMs = 5_000;
export const maxTallyPauseMs = 10_000;
/** So many searches, choices or reads are written at once; each search may have shown 25 paths, 8 KB in all. */
export const tallyBatch = 100;
/** What an isolate holds when writing is slow or fails, 4 MB at most; what comes besides is not counted. */
export const maxTallyWaiting = 500;
/** Workers ends what runs after an answer 30 s after it: past this somebody else's request goes on. */
export const tallyTurnMs = 20_000;
/** More say no more about a task, and the more there are the fewer others asked the same. */
export const maxPickWords = 12;
export const maxPickWordLength = 40;
/** A program's name, and its version. */
export const maxClientTextLength = 64;
/** Clients told apart for each release and day; whoever makes up names fills no table. */
export const maxClientsPerRelease = 50;
/** A month of searches shows what lacks; reads are kept for a year and a month, to compare a month with its last. */
export const pickDays = 30;
export const readDays = 400;
export const defaultStatisticsDays = 30;
/** A search that fewer asked may be one person's. */
export const minMissedSearches = 5;
/** Rows of each list of a summary. */
export const maxStatisticsRows = 100;

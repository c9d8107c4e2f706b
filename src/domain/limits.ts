/**
 * Every limit of the registry: its unit in its name, its reason beside it.
 * What the outside world imposes comes first, then what we chose.
 */

const KiB = 1024;
const MiB = 1024 * KiB;

// A skill. The Skills extension (SEP-2640) asks servers not to exceed 512 files and 16 MiB; the Python client
// refuses a whole listing that holds a larger skill, so these are refusals here, not advice.
export const maxFilesPerSkill = 512;
export const maxSkillBytes = 16 * MiB;
/** One file may use the whole budget of its skill. */
export const maxFileBytes = 16 * MiB;
/** Deep enough for every one of 9,075 surveyed skills, shallow enough for every client's disk. */
export const maxPathDepth = 8;
/** The longest file name that common file systems store; surveyed paths reach 162. */
export const maxPathBytes = 255;
/** Claude Code declines a larger SKILL.md, so it could be published but not used. */
export const maxSkillMdBytes = 1 * MiB;
/** ChatGPT's import declines a larger SKILL.md; a warning, since other hosts take it. */
export const adviseSkillMdBytes = 256 * KiB;
/** Agent Skills recommends to keep a body short; past this a host loads little else. */
export const adviseSkillMdLines = 500;

// An upload. A folder of many small skills travels in one, so files count per upload and per skill.
export const maxFilesPerUpload = 2048;
export const maxSkillsPerUpload = 100;

// Frontmatter, by the Agent Skills format; lengths count code points.
export const maxNameLength = 64;
export const maxDescriptionLength = 1024;
export const maxCompatibilityLength = 500;

// Names.
export const minNamespaceLength = 3;
export const maxNamespaceLength = 64;
/** Folders and name together, so that no URI passes the 2048 bytes of Claude Code. */
export const maxSkillPathBytes = 255;
export const maxVersionLength = 64;
export const maxTitleLength = 128;
/** What a namespace says of itself: a paragraph, as long as a skill's description. */
export const maxNamespaceDescriptionLength = 1024;
/**
 * Namespaces that the tokens of one namespace, and of those that came of it, or strangers at one address prefix, may
 * create together; one that was deleted counts until its name is free, or names would be taken in turns. Enough for a
 * company's teams, too few to take the good names. The operator creates more.
 */
export const maxNamespacesPerCreator = 10;
/** Nobody can take the name of a deleted namespace for so long: agents that still ask for it must not meet a stranger. */
export const namespaceTombstoneMs = 30 * 86_400_000;

// Stored rows. D1 refuses a row over 2 MB in production (not locally): two spellings of an entry share one row.
export const maxEntryBytes = 900_000;

// Requests.
/** Archives may hold incompressible bytes plus framing. */
export const maxUploadBytes = 20 * MiB;
/** Nothing that a client sends here is near it; and an object of 4 MiB of keys would cost a second of CPU. */
export const maxMcpRequestBytes = 256 * KiB;
export const maxJsonRequestBytes = 64 * KiB;
/** How much of a body that is too large is read to its end, so that the client gets to read our answer. */
export const maxDrainedBytes = 32 * MiB;
/** pigz and bgzip make files of several members; more than this only costs time. */
export const maxGzipMembers = 1024;
/** Long enough for a UUID, a commit and a job number together. */
export const maxIdempotencyKeyLength = 255;
/** How long an answer is kept for a retry. */
export const receiptLifetimeMs = 86_400_000;
/** What an error repeats of a name that a request made up: longer than any name we know. */
export const maxEchoedLength = 100;
/** Findings reported for one upload; the rest is counted in a last finding. */
export const maxFindings = 200;

// Lists.
/** Hosts stop after 20 to 64 pages, so pages are as large as they accept. */
export const maxPageEntries = 100;
export const maxPageBytes = 1 * MiB;
/** The conformance suite stops at 50 pages, the official client throws past 64. */
export const maxMcpPages = 50;
/** Collections that an answer names before skills that they hold are hidden or deleted; it says when there are more. */
export const maxHoldersShown = 100;
/** Claude Code and others take this many skills of one server; a longer curated list would be cut unseen. */
export const maxPickedSkills = 100;
/** What a collection's maker may say to agents; Claude cuts instructions at 2,048 characters, ours included. */
export const maxInstructionsLength = 1_000;
/** Prompts become slash commands in a menu; more than this no person scrolls. */
export const maxPrompts = 100;
/** A cursor names its query: `maxQueryLength` code points of up to 7 bytes as JSON, the longest key, all in base64. */
export const maxCursorBytes = 6 * 1024;

/** Of companion servers, the index, searches, and what is counted of them: the same kind, in a file of their own. */
export * from "./limits-of-finding.ts";
/** Of what the registry asks other hosts, and of whom it trusts to name people and jobs. */
export * from "./limits-of-sign-in.ts";
export * from "./limits-of-oauth.ts";

// Freshness (product.md: what a client may keep), in milliseconds.
export const movingTtlMs = 5_000;
export const pinnedReadTtlMs = 86_400_000;
export const privateTtlMs = 60_000;
/** How long a cache may keep public bytes under their digest: as long as a client keeps a pinned file. */
export const publicBlobSeconds = 86_400;
/** How long a cache may keep a discovery index, which changes with every publish. */
export const discoveryIndexSeconds = 5;

// Outgoing work.
/** Workers wait for at most six response headers at once; more puts would only queue. */
export const concurrentBlobPuts = 6;
/** Entries that one request looks up at once, each with up to `maxEntryBytes`. */
export const concurrentLookups = 6;
/** Two publishers that both ask for "the next version" race; each loser tries the one after. */
export const maxVersionRetries = 8;

// Secrets.
/** The operator token and the signing key hold at least this much; shorter ones are treated as absent. */
export const minSecretLength = 32;
export const defaultTokenDays = 90;
export const maxTokenDays = 365;
/** A weekend, and somebody on holiday for a day or two, with both tokens in use. */
export const defaultOverlapHours = 24;
export const maxOverlapHours = 168;
/** An invitation lies in a mailbox: a week, at most a month. */
export const defaultInvitationHours = 168;
export const maxInvitationHours = 720;
/** OpenID Connect: a subject has at most 255 ASCII characters. */
export const maxSubjectLength = 255;
/** An issuer is the address of a company's or a cloud's sign-in; the longest that are known have about 100. */
export const maxIssuerLength = 255;
/** A token's last use is kept to the hour, so that a busy one costs one write an hour. */
export const tokenUseStepMs = 3_600_000;

// What a namespace has at once. Each credential has rates of its own, so whoever could mint without end would have none.
/** Every machine and person of a company with a token of their own, and a CI that mints one for each job of a day. */
export const maxLivingTokens = 200;
/** A link for each tool of each team. */
export const maxLivingLinks = 200;
/** As many people as one admin invites in a week. */
export const maxOpenInvitations = 100;
/** More than a company has teams; each takes as much as `maxCollectionEditions` of its bodies. */
export const maxCollections = 200;
/** Every employee of a company that has not split into several namespaces. */
export const maxMembers = 1_000;
/** Weeks of daily mends to go back over; each may take as much as a body has. */
export const maxCollectionEditions = 50;

/** The longest spelling of an IPv6 address, with an IPv4 address in it. */
export const maxAddressLength = 45;
/** What the audit log keeps of a User-Agent. */
export const maxUserAgentLength = 200;
/** Lines of the audit log that an export holds at once, about 1 MB; and a million need 1,000 queries, which D1 allows. */
export const auditExportLines = 1_000;

// The sweep of orphans, once an hour: bytes that no release references are gone before they are a day old.
/**
 * How long a blob may wait for its release. Far above any publish, which lasts minutes; and low enough that ten hourly
 * runs in a row may fail and the eleventh is still in time.
 */
export const orphanGraceMs = 12 * 3_600_000;
/**
 * How long a claim belongs to the sweep that made it. Workers ends a scheduled run after 15 minutes, and with it every
 * call that was still under way: past twice that, no delete of the old owner can arrive any more.
 */
export const claimLeaseMs = 30 * 60_000;
/** A run takes no further batch after this, and erases no claim that is older: well inside those 15 minutes. */
export const sweepBudgetMs = 5 * 60_000;
/** R2 deletes at most 1,000 keys in one call. */
export const sweepBatchBlobs = 1_000;
/** D1 answers 1,000 queries to one invocation: a batch asks at most four, and one of a purge at most 22 (below). */
export const maxSweepBatches = 110;
/** Batches that the purge of deleted namespaces may take of these, so that orphans always have their turn. */
export const maxPurgeBatches = 30;
/** Releases that a batch of the purge removes; each has at most `maxFilesPerSkill` rows of files. */
export const purgeBatchReleases = 25;
/** Rows of every other table that a batch of the purge removes. */
export const purgeBatchRows = 1_000;

// What stays open (src/live).
/** The first news of a burst go out at once, the rest together: at most this many milliseconds later. */
export const burstWindowMs = 150;
/** What a listener that found no room is told to wait. */
export const feedRetrySeconds = 30;
/** Proxies cut streams that say nothing for 100 s and more; a client that left is noticed at the next of these. */
export const defaultKeepAliveMs = 15_000;
/** How often an open stream asks again whether it may listen, and whether it missed something. */
export const defaultRecheckMs = 40_000;
/** Lines whose Feed went away (a deploy: all at once) dial again at a random moment within this. */
export const defaultRedialJitterMs = 5_000;
export const maxRedials = 5;
/** What clients of 2025 are told to wait before they reconnect. */
export const streamRetryMs = 3_000;
/** Frames that wait for a client that does not read; past this its stream ends, and it lists again when it returns. */
export const maxWaitingFrames = 1_000;
/** Listeners of one address, and of one token or address prefix at it. A Feed tells 2,000 within half a second. */
export const maxListenersPerFeed = 2_000;
export const maxListenersPerPrincipal = 200;
export const maxStreamsPerSession = 4;
/** Objects that share the listeners of `/mcp`, and of any other address. */
export const defaultRootShards = 4;
export const defaultAddressShards = 1;
/** Collections told of a change of a whole namespace; listeners of the rest find out at their next recheck. */
export const maxCollectionsTold = 500;
/** Announcements are tried again after these pauses; then a line's own recheck has to find out. */
export const announcePausesMs = [50, 500];

// Sessions of 2025-era clients.
/** How long a session lives after its last use: an agent that is asked something every day keeps its own. */
export const sessionIdleMs = 86_400_000;
/** A session's last use is kept to this, so that a busy one costs twelve writes an hour; it lives so much longer. */
export const sessionUseStepMs = 5 * 60_000;
/** Objects that share the sessions. One answers about 1,000 checks a second; default of a Worker var. */
export const defaultSessionShards = 8;
/** Of one token, link or address prefix: a hundred agents that each start ten times a day. The longest unused goes. */
export const maxSessionsPerOwner = 1_000;
/** About 100 MB, of the 10 GB of an object; past it a stranger's session goes, or the new one is not opened. */
export const maxSessionsPerObject = 100_000;
/** As many addresses as a host takes skills of one server. */
export const maxSubscriptionsPerSession = 100;
/** UTF-16 units of a client's name, and of its version, that a session keeps. */
export const maxClientInfoLength = 100;

// What an isolate (128 MB for all its requests) holds for reads.
/** Larger files go into an answer as a stream, so that sixteen of 16 MiB at once take no more than small ones. */
export const maxWholeReadBytes = 64 * KiB;
/** What a stream holds of a file: large enough that pieces cost little; whole groups of base64, which are 3 bytes. */
export const readChunkBytes = 192 * KiB;
/** Requests in one array (2025-03-26 only); each may be answered with a whole page. */
export const maxBatchRequests = 20;
/** Nine of ten SKILL.md files have less than 13 KiB. */
export const maxRememberedBlobBytes = 64 * KiB;
export const rememberedBlobsBytes = 4 * MiB;
/** Pages of skills/list, at most `maxPageBytes` each. */
export const rememberedPagesBytes = 8 * MiB;

// Rates, counted in windows of a minute by token, else by address. The first four are defaults of Worker vars.
export const rateWindowMs = 60_000;
/** A fleet of a hundred agents behind one address may each ask once a second. */
export const defaultReadsPerWindow = 6_000;
/** A search is the dearest read; an agent begins a task with one or two. */
export const defaultSearchesPerWindow = 600;
/** A publish may take seconds of CPU; a CI job that publishes a folder asks once. */
export const defaultWritesPerWindow = 120;
/** A person mistypes a few times; whoever guesses needs millions. */
export const defaultFailedCredentialsPerWindow = 20;
/** An isolate remembers so many keys of each kind, a few MB together; past them it forgets the oldest. */
export const maxRateKeys = 10_000;
/** Of a limit: what an isolate lets pass before it asks the binding that counts for all isolates near it. */
export const unshieldedShare = 0.1;

// Quotas of a namespace: defaults of Worker vars, which a PUT of its quotas replaces.
/** As many as an MCP list shows: `maxMcpPages` of `maxPageEntries`. */
export const defaultQuotaSkills = 5_000;
/** Three hundred of the largest skills there can be; R2 keeps it for a few cents a month. */
export const defaultQuotaBytes = 5 * 1024 * MiB;
/** A first import of thousands of skills is done in days; no CI that works comes near it. */
export const defaultQuotaPublishesADay = 2_000;

// What browsers and mail readers are told.
/** A year, as lists of sites that are https only ask for. */
export const hstsSeconds = 31_536_000;
/** RFC 9116 advises less than a year; each answer names a date so far ahead, so that it never runs out. */
export const securityTxtLifetimeMs = 183 * 86_400_000;
/** It says the same for a whole day. */
export const securityTxtMaxAgeSeconds = 3_600;

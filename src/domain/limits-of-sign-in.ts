/**
 * The limits of what the registry asks other hosts, of whom it trusts to name people and jobs, and of what those may
 * do. limits.ts passes them on, and is what everybody imports.
 */
const KiB = 1024;
const minuteMs = 60_000;

// Requests of ours to hosts that others name.
/** Longer than any address that an issuer is known to publish. */
export const maxOutboundUrlLength = 2_048;
/** Discovery documents have 1 to 5 KiB, key sets up to 10; past this somebody wants to fill our memory. */
export const maxIssuerDocumentBytes = 64 * KiB;
/** An issuer answers within a second; whoever asks us waits for two such answers in a row. */
export const issuerTimeoutMs = 5_000;

// Issuers and their keys, as an isolate remembers them.
/** How long what an issuer says of itself and its keys count without asking again. */
export const issuerKeysTtlMs = 60 * minuteMs;
/** How much longer they count while the issuer does not answer: through its outage, but not through a withdrawn key. */
export const issuerKeysStaleMs = 24 * 60 * minuteMs;
/** Between two questions for a key that we lack: a made-up key id must not send our requests to an issuer without end. */
export const issuerPauseMs = minuteMs;
/** Questions within one such pause while there are no keys that count, as when several jobs begin at once. */
export const maxIssuerQuestions = 6;
/** Issuers that an isolate remembers at once; each takes at most `maxIssuerDocumentBytes` of keys, 6 MB together. */
export const maxRememberedIssuers = 100;
/** Keys of one issuer that are looked at; those that are known publish two to ten. */
export const maxIssuerKeys = 50;

// Signed tokens of other issuers.
/** Those of GitHub and GitLab have 1 to 3 KiB. */
export const maxJwtLength = 16 * KiB;
/** Between the clocks of two hosts that both keep time. */
export const clockLeewayMs = 30_000;

// Publishing from a CI without a stored secret.
/** A workflow for each repository of a company's department; each exchange looks at all of one issuer. */
export const maxPublishers = 50;
/** GitHub's tokens have some 30 claims, of which a few tell jobs apart. */
export const maxTrustClaims = 10;
export const maxClaimNameLength = 64;
/** As long as a subject may be. */
export const maxClaimLength = 255;
/** How long the token for a job counts: a publish takes seconds, and one that leaks in a log is soon worth nothing. */
export const jobTokenMs = 15 * minuteMs;
/** Since its issuer made it: GitLab makes a job's token when the job begins, others when it asks. */
export const maxJobTokenAgeMs = 60 * minuteMs;
/** Of one publisher at once, in 15 minutes: each has rates of its own, so whoever mints without end would have none. */
export const maxLivingJobTokens = 100;
/** Characters of each member of a release's source; a path of a workflow with its repository and ref has about 150. */
export const maxSourceLength = 512;
/** How long a job's token is listed once it has run out; the audit log has it for good, and lists stay readable. */
export const jobTokenKeptMs = 24 * 60 * minuteMs;

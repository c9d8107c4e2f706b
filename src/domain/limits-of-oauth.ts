/** The limits of signing in: clients, grants, tokens and pages. limits.ts passes them on. */
const KiB = 1024;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

// Tokens of a sign-in.
/** What is revoked is over at once; this bounds how long a token that leaked unseen is good. */
export const accessTokenSeconds = 3_600;
/** A client that nobody used for a month has to ask again. */
export const refreshTokenSeconds = 30 * 86_400;
/** The answer to a refresh may get lost: for so long the old token is taken once more. Later it is a stolen one. */
export const refreshGraceMs = 60_000;
/** How long a used refresh token is recognised: as long as it would have been good. */
export const spentTokenMs = refreshTokenSeconds * 1_000;
/**
 * Requests that met another one with the same code or token begin again so often. The official clients refresh once for
 * every request that was refused, and an agent that calls eight tools at once has them all refused; each time one of
 * them gets through.
 */
export const maxTokenAttempts = 10;
/** A person connects tens of clients; past this the oldest has to ask again. */
export const maxGrantsPerUser = 200;
/** Of the namespaces of one person, wherever all are shown or allowed at once; nobody is a member of a thousand. */
export const maxMembershipsShown = 1_000;
/** Form bodies of the token endpoint and of the pages: codes, verifiers and addresses, a few KiB. */
export const maxFormBytes = 32 * KiB;
/** Of the address that leads to the consent page, in bytes: browsers and proxies carry 8 KiB. */
export const maxAuthorizeQueryLength = 6 * KiB;

// Clients.
/** A registration has a name and a few addresses. */
export const maxRegistrationBytes = 16 * KiB;
/** Inspector and VS Code list four; more is somebody's table. */
export const maxRedirectUris = 20;
export const maxRedirectUriLength = 1_000;
/** A page shows it on one line. */
export const maxClientNameLength = 200;
/** Clients register once and again when they lose their id; an office behind one address has tens. */
export const maxRegistrationsPerHour = 60;
/** Registered, but never allowed anything: past these the oldest goes, so that a flood crowds out only itself. */
export const maxUnusedRegistrations = 10_000;
/** Whoever registers goes on to sign in; a week later nobody will. */
export const unusedRegistrationMs = 7 * dayMs;
/** A registration that is used is renewed; after so long without any use it goes. */
export const registrationSeconds = 90 * 86_400;
/** The draft of metadata documents (section 6.6) advises 5 KiB; some list their keys. */
export const maxClientDocumentBytes = 16 * KiB;
export const clientDocumentTimeoutMs = 5_000;
/** What a document says counts at least so long, whatever its headers say, so that nobody makes us ask without end. */
export const minClientDocumentMs = 5 * 60_000;
/** And at most so long: a client may withdraw a redirect address. */
export const maxClientDocumentMs = dayMs;
/** While its host does not answer, a client that is allowed already goes on under its last document. */
export const staleClientDocumentMs = 7 * dayMs;
export const maxClientIdLength = 1_000;

// Pages.
/** A working day. */
export const signInMs = 8 * hourMs;
/** Between two pages and a password. */
export const providerTimeoutMs = 10_000;
export const maxProviderAnswerBytes = 64 * KiB;
/** How long a sign-in at the provider may take. */
export const providerSignInSeconds = 600;
/** Grants on one account page. */
export const accountPageSize = 50;
/** "Name 1.0, 192.0.2.0": what the account page says of a use. */
export const maxUsedFromLength = 200;

// Groups of the OpenID provider.
/** Departments and teams; the provider's token has to carry a person's. */
export const maxGroupRoles = 200;
export const maxGroupNameLength = 256;
/** Of one person: more are not looked at. */
export const maxGroupsOfPerson = 500;
/** Whoever left a group is no member by it after so long at the latest; each sign-in at the pages says it anew. */
export const groupMembershipMs = 7 * dayMs;
/** Of the address to come back to after the provider: a cookie carries 4 KiB, encoded. */
export const maxProviderReturnLength = 2_000;

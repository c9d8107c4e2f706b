import { jobTokenKeptMs, maxPurgeBatches, maxSweepBatches, sweepBatchBlobs, sweepBudgetMs } from "../domain/limits.ts";
import { dayOf } from "../domain/tally.ts";
import { logEvent } from "../log.ts";
import type { Blobs } from "../storage/blobs.ts";
import { endGroupMembers } from "../storage/group-roles.ts";
import { forgetClientDocuments, forgetSignIns } from "../storage/oauth-clients.ts";
import { Orphans } from "../storage/orphans.ts";
import type { Claim } from "../storage/orphans.ts";
import { forgetExchanges } from "../storage/publishers.ts";
import { purgeSome } from "../storage/purge.ts";
import { forgetReceipts } from "../storage/receipts.ts";
import { forgetTally } from "../storage/tally.ts";

/**
 * The way out: every hour, bytes that no release references. R2 knows no transactions, so a row in D1 is the lock.
 *
 *     publish  touch (row: touched) → put → mark (row: stored) → commit (a release references the row)
 *     sweep    claim (row: deleting) → erase (R2) → forget (no row)
 *
 * Nothing referenced is ever removed, because of four facts; `test/journeys/sweep-interleavings.test.ts` has each.
 * (1) Claim is one statement: what a release references, as file or as archive, is not claimed.
 * (2) A release can reference only stored rows, and nothing leads from deleting back to stored. So from claim to
 *     forget no release can begin to reference the bytes, and touch answers `busy`.
 * (3) A stored row has its bytes: its publisher marks only the row that it touched itself, after its own put.
 * (4) Only the sweep that claimed a row erases it and forgets it, until its lease is over.
 *
 * The same bytes are published while a sweep removes them:
 *
 *     A  publish                 sweep                    B  publish                 sweep
 *        1 touch                                             1 touch, put, mark
 *                                2 claim: too young                                  2 claim (a grace later)
 *        3 put, mark, commit                                 3 commit: busy, not stored
 *
 *     C  publish                 sweep                    D  publish                 sweep
 *                                1 claim                     1 touch                 2 claim (a grace later), erase
 *        2 touch: busy                                       3 put: the bytes are back
 *                                3 erase, forget             4 mark: no row touched
 *        4 touch: a new row                                                          5 forget, remember
 *        5 put, mark, commit                                 6 commit: busy          7 a grace later: erase again
 *
 * `busy` tells the publisher to try again. Its next touch either meets the claim and is busy too, or finds no row,
 * makes one, and is told to send the bytes: a forgotten row never leads anybody to believe that bytes are there.
 *
 *     E  slow publish            sweep                    another publish
 *        1 touch (birth x), put
 *                                2 claim, erase, forget
 *                                                         3 touch (birth y)
 *        4 mark x: no such row, although one is touched
 *        5 commit: busy, the row is not stored            6 put, mark y, commit
 *
 * Without births step 4 would mark the other publisher's row, whose bytes are not there yet, and break (3).
 *
 * A slow publish puts after forget (D with 3 after 5): no row knows these bytes. Forget remembers the digest for a
 * grace; then a sweep makes a deleting row for it, if it has none, and erases again under that lock. If it has one,
 * the bytes are that row's. A put would have to arrive a whole grace after the forget, which is two after its touch,
 * to escape. So bytes that come late are gone within a grace and an hour, as all others.
 *
 * A sweep ends early:
 *
 *     after claim, or erase lost or failed    The rows stay deleting; the next run claims them anew and erases again.
 *     after erase, or forget failed           The same. Erasing what is gone is no error.
 *     forget done, its answer lost            Nothing is left to do.
 *
 * Publishers of those bytes are busy until the next run. An erase is not tried again at once: a delete whose answer
 * was lost may still be on its way, and would hit the bytes of whoever published after our second attempt. The next
 * run takes over only claims whose lease is over, when no call of the old run can be alive.
 *
 * Two sweeps at once share nothing: what one has claimed the other does not see, and a claim that was taken over has
 * another time, so that its first owner's forget drops no row.
 *
 * First come the rows of deleted namespaces, a share of them in each run, so that what they referenced is orphaned by
 * the time that the other steps look.
 */
export interface Swept {
  /** Claims of runs that ended early, taken over. */
  resumed: number;
  orphaned: number;
  /** Erased once more, for bytes that came late. */
  revisited: number;
  receipts: number;
  /** Rows of searches and reads that are too old to be kept. */
  counted: number;
  /** Tokens of CI jobs that have run out, theirs and ours. */
  exchanged: number;
  /** What signing in left behind, and members by a group that has not been confirmed. */
  signIns: number;
  /** Rows of deleted namespaces. */
  purged: number;
  /** False when the budget of the run was spent first; the next run goes on. */
  isComplete: boolean;
}

const nothing: Swept = {
  resumed: 0,
  orphaned: 0,
  revisited: 0,
  receipts: 0,
  counted: 0,
  exchanged: 0,
  signIns: 0,
  purged: 0,
  isComplete: false,
};

export async function sweep(db: D1Database, blobs: Blobs, clock: () => number): Promise<Swept> {
  const orphans = new Orphans(db);
  const swept = { ...nothing };
  const remove = (kind: "resumed" | "orphaned" | "revisited", take: (now: number) => Promise<Claim>) => async () => {
    const claim = await take(clock());
    await erase(claim, blobs, clock());
    swept[kind] += await orphans.forget(claim, clock());
    return claim.hasMore;
  };
  let purges = 0;
  let isPurged = false;
  const purge = async () => {
    const { rows, hasMore } = await purgeSome(db, clock());
    swept.purged += rows;
    isPurged = !hasMore;
    return hasMore && ++purges < maxPurgeBatches;
  };
  const steps = [
    purge,
    remove("resumed", (now) => orphans.claimAbandoned(now)),
    remove("orphaned", (now) => orphans.claimOrphaned(now)),
    remove("revisited", (now) => orphans.claimErased(now)),
    () => forgetOld(db, clock(), swept),
    () => forgetJobs(db, clock(), swept),
    () => forgetPeople(db, clock(), swept),
    () => forgetMembers(db, clock(), swept),
  ];
  try {
    swept.isComplete = (await repeatEach(steps, clock)) && isPurged;
    return swept;
  } finally {
    const { isComplete, ...counts } = swept;
    if (!isComplete || Object.values(counts).some((count) => count > 0)) logEvent("sweep", { ...swept });
  }
}

/** What is kept for a while only. True when there is more of it. */
async function forgetOld(db: D1Database, now: number, swept: Swept): Promise<boolean> {
  const receipts = await forgetReceipts(db, now, sweepBatchBlobs);
  const { rows, hasMore } = await forgetTally(db, dayOf(now), sweepBatchBlobs);
  swept.receipts += receipts;
  swept.counted += rows;
  return hasMore || receipts === sweepBatchBlobs;
}

async function forgetPeople(db: D1Database, now: number, swept: Swept): Promise<boolean> {
  const { rows, hasMore } = await forgetSignIns(db, now, sweepBatchBlobs);
  swept.signIns += rows;
  return hasMore;
}

async function forgetMembers(db: D1Database, now: number, swept: Swept): Promise<boolean> {
  const ended = await endGroupMembers(db, now, sweepBatchBlobs);
  const documents = await forgetClientDocuments(db, now, sweepBatchBlobs);
  swept.signIns += ended + documents;
  return ended === sweepBatchBlobs || documents === sweepBatchBlobs;
}

async function forgetJobs(db: D1Database, now: number, swept: Swept): Promise<boolean> {
  const ended = { now, tokensEndedBefore: now - jobTokenKeptMs };
  const { rows, hasMore } = await forgetExchanges(db, ended, sweepBatchBlobs);
  swept.exchanged += rows;
  return hasMore;
}

/** Repeats each step until it says that nothing is left. False when the budget was spent first. */
async function repeatEach(steps: readonly (() => Promise<boolean>)[], clock: () => number): Promise<boolean> {
  const deadline = clock() + sweepBudgetMs;
  let batches = 0;
  for (const step of steps) {
    for (let hasMore = true; hasMore;) {
      if (clock() >= deadline || batches++ >= maxSweepBatches) return false;
      hasMore = await step();
    }
  }
  return true;
}

/**
 * The step between claim and forget.
 * @throws when the claim took so long to arrive that another sweep might own it soon
 */
export async function erase({ digests, claimedAt }: Claim, blobs: Blobs, now: number): Promise<void> {
  if (now - claimedAt >= sweepBudgetMs) throw new Error(`a claim is ${now - claimedAt} ms old, too old to erase`);
  await blobs.delete(digests);
}

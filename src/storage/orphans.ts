import type { Digest } from "../domain/digest.ts";
import { claimLeaseMs, orphanGraceMs, sweepBatchBlobs } from "../domain/limits.ts";

/**
 * Claim and forget, the two halves of the lock that a sweep holds around erasing bytes. A claimed row is `deleting`:
 * no touch revives it, no release can reference it, and no second sweep takes it before the lease is over. Every
 * decision is one statement or one batch, so nothing can slip between looking and taking.
 */
export interface Claim {
  digests: readonly Digest[];
  /** Together with the digest it names the claim: forget drops only rows that still carry it. */
  claimedAt: number;
  /** False when this was all there is. */
  hasMore: boolean;
}

export class Orphans {
  readonly #db: D1Database;

  constructor(db: D1Database) {
    this.#db = db;
  }

  /** Takes over what a sweep claimed and never forgot. */
  async claimAbandoned(now: number): Promise<Claim> {
    const { results } = await this.#db
      .prepare(claimAbandoned)
      .bind(now, now - claimLeaseMs, sweepBatchBlobs)
      .all<{ digest: Digest }>();
    return claimOf(results, now, results.length);
  }

  /** Takes blobs that nobody references; those that somebody does leave the question. */
  async claimOrphaned(now: number): Promise<Claim> {
    const { results } = await this.#db
      .prepare(claimOrphaned)
      .bind(now, now - orphanGraceMs, sweepBatchBlobs)
      .all<{ digest: Digest; kept: number }>();
    const orphans = results.filter((row) => row.kept === 0);
    return claimOf(orphans, now, results.length);
  }

  /** Takes digests that were erased a grace ago, once more. Those that have a row again are that row's business. */
  async claimErased(now: number): Promise<Claim> {
    const [claimed, looked] = await this.#db.batch<{ digest: Digest }>([
      this.#db.prepare(claimErased).bind(now, now - orphanGraceMs, sweepBatchBlobs),
      this.#db.prepare(dropErased).bind(now - orphanGraceMs, sweepBatchBlobs),
    ]);
    return claimOf(claimed!.results, now, looked!.meta.changes);
  }

  /** Drops the rows of a claim whose bytes are gone, and remembers their digests; returns how many. */
  async forget({ digests, claimedAt }: Claim, now: number): Promise<number> {
    if (digests.length === 0) return 0;
    const wanted = JSON.stringify(digests);
    const [, forgotten] = await this.#db.batch([
      this.#db.prepare(rememberErased).bind(wanted, claimedAt, now),
      this.#db.prepare(forgetClaimed).bind(wanted, claimedAt),
    ]);
    return forgotten!.meta.changes;
  }
}

function claimOf(rows: readonly { digest: Digest }[], now: number, looked: number): Claim {
  return { digests: rows.map((row) => row.digest), claimedAt: now, hasMore: looked === sweepBatchBlobs };
}

// ?1 now, ?2 the latest time that is old enough, ?3 rows.

const claimAbandoned = `
UPDATE blobs SET touched_at = ?1
WHERE digest IN (
  SELECT digest FROM blobs WHERE state = 'deleting' AND touched_at <= ?2 ORDER BY touched_at LIMIT ?3
)
RETURNING digest`;

// A blob may be referenced as a file, as the zip or as the tar.gz of a release.
const claimOrphaned = `
WITH old AS (
  SELECT b.digest,
    EXISTS (SELECT 1 FROM release_files WHERE digest = b.digest)
    OR EXISTS (SELECT 1 FROM releases WHERE zip_digest = b.digest)
    OR EXISTS (SELECT 1 FROM releases WHERE tar_digest = b.digest) AS kept
  FROM blobs b
  WHERE b.kept = 0 AND b.state <> 'deleting' AND b.touched_at <= ?2
  ORDER BY b.touched_at LIMIT ?3
)
UPDATE blobs SET
  kept = old.kept,
  state = iif(old.kept, blobs.state, 'deleting'),
  touched_at = iif(old.kept, blobs.touched_at, ?1)
FROM old WHERE blobs.digest = old.digest
RETURNING blobs.digest, blobs.kept`;

const claimErased = `
INSERT INTO blobs (digest, size, state, touched_at, late)
SELECT digest, 0, 'deleting', ?1, 1 FROM erased WHERE erased_at <= ?2 ORDER BY erased_at, digest LIMIT ?3
ON CONFLICT (digest) DO NOTHING
RETURNING digest`;

const dropErased = `
DELETE FROM erased WHERE digest IN (
  SELECT digest FROM erased WHERE erased_at <= ?1 ORDER BY erased_at, digest LIMIT ?2
)`;

// ?1 JSON array of digests, ?2 when they were claimed, ?3 now.
const isClaimed = `state = 'deleting' AND touched_at = ?2 AND digest IN (SELECT value FROM json_each(?1))`;

const rememberErased = `
INSERT INTO erased (digest, erased_at)
SELECT digest, ?3 FROM blobs WHERE ${isClaimed} AND late = 0
ON CONFLICT (digest) DO UPDATE SET erased_at = excluded.erased_at`;

const forgetClaimed = `DELETE FROM blobs WHERE ${isClaimed}`;

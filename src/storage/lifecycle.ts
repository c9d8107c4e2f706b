import type { SkillPath } from "../domain/names.ts";
import type { SkillVisibility } from "../domain/policy.ts";
import { problem } from "../domain/problem.ts";
import type { Version } from "../domain/version.ts";
import { raiseRevision, setCurrent, setVisibility, stateOfSkill } from "./ledger-sql.ts";
import { newsOf, readNews } from "./news.ts";
import type { News } from "./news.ts";
import { lostRights, record, refuseLostRights } from "./rights.ts";
import type { Actor, AuditEvent } from "./rights.ts";

/**
 * What happens to skills and releases after they were published. Each change is one batch with one revision; none
 * touches bytes, which a sweep removes once nothing references them.
 */
export class Lifecycle {
  readonly #db: D1Database;
  readonly #actor: Actor;
  readonly #now: number;

  constructor(db: D1Database, actor: Actor) {
    this.#db = db;
    this.#actor = actor;
    this.#now = actor.now;
  }

  /**
   * Moves `current`, changes the visibility, or both together.
   * @throws Problem `release_yanked` when the release that should be current is yanked (or gone) by then
   */
  async changeSkill(path: SkillPath, change: { visibility?: SkillVisibility; current?: Version }): Promise<News> {
    const { visibility, current } = change;
    try {
      return await this.#change(path, { ...aboutSkill(path), action: "change-skill", after: change }, [
        ...(visibility === undefined ? [] : [this.#bind(setVisibility, path, visibility, this.#now)]),
        ...(current === undefined
          ? []
          : [this.#bind(refuseYanked, path, current), this.#bind(setCurrent, path, current, this.#now)]),
      ]);
    } catch (error) {
      if (String(error).includes("not_living")) {
        throw problem("release_yanked", `${current} is yanked; un-yank it before it can be current`);
      }
      throw error;
    }
  }

  /** Hides a release from lists. Where it was current, the highest full version that is left takes its place. */
  yank(path: SkillPath, version: Version): Promise<News> {
    return this.#change(path, { ...aboutRelease(path, version), action: "yank", after: { yanked: true } }, [
      this.#bind(yank, path, version, this.#now),
      this.#bind(replaceCurrent, path, version, this.#now),
    ]);
  }

  /** Shows a release again; it becomes current only where the skill has none. */
  unyank(path: SkillPath, version: Version): Promise<News> {
    return this.#change(path, { ...aboutRelease(path, version), action: "unyank", after: { yanked: false } }, [
      this.#bind(unyank, path, version),
      this.#bind(findCurrent, path, this.#now),
    ]);
  }

  /** Leaves a tombstone and the list of versions that are spent; every address of the skill is unknown from now on. */
  delete(path: SkillPath): Promise<News> {
    return this.#change(path, { ...aboutSkill(path), action: "delete-skill" }, [
      this.#bind(bury, path, this.#now),
      this.#bind(spendVersions, path),
      this.#bind(deleteFiles, path),
      this.#bind(deleteReleases, path),
    ]);
  }

  #bind(statement: string, ...parameters: (string | number)[]): D1PreparedStatement {
    return this.#db.prepare(statement).bind(this.#actor.namespace, ...parameters);
  }

  /** @throws Problem `invalid_token`, `not_found` */
  async #change(path: SkillPath, event: AuditEvent, statements: D1PreparedStatement[]): Promise<News> {
    const news = newsOf(this.#db, this.#actor.namespace, [path]);
    try {
      const results = await this.#db.batch([
        ...news.before,
        ...refuseLostRights(this.#db, this.#actor),
        record(this.#db, this.#actor, event),
        ...statements,
        this.#bind(raiseRevision),
        ...news.after,
      ]);
      return readNews(results);
    } catch (error) {
      throw lostRights(error) ?? error;
    }
  }
}

/** What a skill was before a change, for the audit log. */
function aboutSkill(path: SkillPath) {
  return {
    target: `skills/${path}`,
    beforeSql: stateOfSkill,
    parameters: [path],
  };
}

function aboutRelease(path: SkillPath, version: Version) {
  return {
    target: `skills/${path}@${version}`,
    beforeSql: `SELECT json_object('current', s.current, 'yanked', json(iif(r.yanked_at IS NULL, 'false', 'true')))
      FROM skills s JOIN releases r ON r.namespace = s.namespace AND r.path = s.path AND r.version = ?10
      WHERE s.namespace = ?1 AND s.path = ?9`,
    parameters: [path, version],
  };
}

// ?1 namespace, ?2 path, ?3 version or time, ?4 time.

const refuseYanked = `
INSERT INTO guards (not_living) SELECT 1 WHERE NOT EXISTS (
  SELECT 1 FROM releases WHERE namespace = ?1 AND path = ?2 AND version = ?3 AND yanked_at IS NULL)`;

const yank = `
UPDATE releases SET yanked_at = coalesce(yanked_at, ?4) WHERE namespace = ?1 AND path = ?2 AND version = ?3`;

const unyank = `UPDATE releases SET yanked_at = NULL WHERE namespace = ?1 AND path = ?2 AND version = ?3`;

const highestLiving = `
(SELECT version FROM releases r
 WHERE r.namespace = ?1 AND r.path = ?2 AND r.yanked_at IS NULL AND r.pre = ''
 ORDER BY r.major DESC, r.minor DESC, r.patch DESC LIMIT 1)`;

const replaceCurrent = `
UPDATE skills SET current = ${highestLiving}, updated_at = ?4
WHERE namespace = ?1 AND path = ?2 AND current = ?3`;

const findCurrent = `
UPDATE skills SET current = ${highestLiving}, updated_at = ?3
WHERE namespace = ?1 AND path = ?2 AND current IS NULL`;

const bury = `
UPDATE skills SET deleted_at = ?3, updated_at = ?3, current = NULL
WHERE namespace = ?1 AND path = ?2 AND deleted_at IS NULL`;

const spendVersions = `
INSERT INTO spent_versions (namespace, path, version, major, minor, patch, pre)
SELECT namespace, path, version, major, minor, patch, pre FROM releases WHERE namespace = ?1 AND path = ?2`;

const deleteFiles = `DELETE FROM release_files WHERE namespace = ?1 AND path = ?2`;

const deleteReleases = `DELETE FROM releases WHERE namespace = ?1 AND path = ?2`;

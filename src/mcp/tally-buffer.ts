import { maxTallyWaiting, tallyBatch, tallyTurnMs } from "../domain/limits.ts";
import type { Choice, Pick, ReleaseRead } from "../domain/tally.ts";
import { logFailure } from "../log.ts";
import type { CountedRead, TallyBatch } from "../storage/tally.ts";

/**
 * What an isolate has counted and not yet written down. One request at a time writes, after its answer, what all have
 * brought: when a pause is over, or at once when there is enough. What cannot be written is tried once more and then
 * lost, as is what waits in an isolate that ends: a count that lacks a few is still one, and no answer ever waits for it.
 */
export interface TallyWriter {
  /** Writes a batch and returns the choices whose pick it did not find. */
  write: (batch: TallyBatch) => Promise<Choice[]>;
  pauseMs: number;
  waitUntil: (work: Promise<unknown>) => void;
}

/** The request that writes. After its `end` the platform may have ended it, and another takes over. */
interface Turn {
  end: number;
  isWriting: boolean;
}

export class TallyBuffer {
  #picks: Pick[] = [];
  /** `isSecond`: its pick was not there the first time; another isolate may have been about to write it. */
  readonly #choices = new Map<string, { choice: Choice; isSecond: boolean }>();
  readonly #reads = new Map<string, CountedRead>();
  /** Could not be written once. */
  #failed: TallyBatch | undefined;
  #turn: Turn | undefined;
  #lost = 0;

  get size(): number {
    return this.#picks.length + this.#choices.size + this.#reads.size;
  }

  addPick(pick: Pick): void {
    if (this.#picks.length < maxTallyWaiting) this.#picks.push(pick);
    else this.#lost++;
  }

  addChoice(choice: Choice, isSecond: boolean = false): void {
    const key = JSON.stringify(choice);
    if (this.#choices.has(key)) return;
    if (this.#choices.size < maxTallyWaiting) this.#choices.set(key, { choice, isSecond });
    else this.#lost++;
  }

  /** Equal reads take one place, however many. */
  addRead(read: ReleaseRead): void {
    const key = JSON.stringify(read);
    const known = this.#reads.get(key);
    if (known !== undefined) known.count++;
    else if (this.#reads.size < maxTallyWaiting) this.#reads.set(key, { ...read, count: 1 });
    else this.#lost++;
  }

  /** Sees to it that what was added is written, if nobody else does already. */
  wake({ write, pauseMs, waitUntil }: TallyWriter): void {
    const now = Date.now();
    const isServed = this.#turn !== undefined && now < this.#turn.end;
    if (isServed && (this.#turn!.isWriting || !this.#isFull())) return;
    const turn = { end: now + tallyTurnMs, isWriting: false };
    this.#turn = turn;
    waitUntil(this.#serve(turn, write, pauseMs));
  }

  async #serve(turn: Turn, write: TallyWriter["write"], pauseMs: number): Promise<void> {
    do {
      if (pauseMs > 0 && !this.#isFull()) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      // Another request came with enough to be written at once, and has done it.
      if (this.#turn !== turn) return;
      turn.isWriting = true;
      await this.#writeSome(write);
      turn.isWriting = false;
    } while ((this.size > 0 || this.#failed !== undefined) && Date.now() < turn.end);
    if (this.#turn === turn) this.#turn = undefined;
  }

  /** Never throws. */
  async #writeSome(write: TallyWriter["write"]): Promise<void> {
    const second = this.#failed;
    this.#failed = undefined;
    const [batch, firstTries] = second === undefined ? this.#take() : [second, new Set<Choice>()];
    try {
      const unmet = await write(batch);
      for (const choice of unmet) if (firstTries.has(choice)) this.addChoice(choice, true);
    } catch (error) {
      if (second === undefined) this.#failed = batch;
      else this.#lost += batch.picks.length + batch.choices.length + batch.reads.length;
      logFailure("tally", error, { lost: this.#lost });
      this.#lost = 0;
    }
  }

  #take(): [TallyBatch, Set<Choice>] {
    const picks = this.#picks.splice(0, tallyBatch);
    const chosen = [...this.#choices].slice(0, tallyBatch);
    for (const [key] of chosen) this.#choices.delete(key);
    const read = [...this.#reads].slice(0, tallyBatch);
    for (const [key] of read) this.#reads.delete(key);
    const choices = chosen.map(([, { choice }]) => choice);
    const firstTries = new Set(chosen.filter(([, { isSecond }]) => !isSecond).map(([, { choice }]) => choice));
    return [{ picks, choices, reads: read.map(([, counted]) => counted) }, firstTries];
  }

  #isFull(): boolean {
    return Math.max(this.#picks.length, this.#choices.size, this.#reads.size) >= tallyBatch;
  }
}

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/**
 * What still runs of a test: the processes that inherited a certain text in their environment, such as the path of
 * a folder that only this run has. Parents and process groups do not tell, since servers are groups of their own.
 */
const pollMs = 100;

export async function findProcesses(mark: string): Promise<number[]> {
  const found = existsSync("/proc/self/environ") ? await fromProc(mark) : await fromPs(mark);
  return found.filter((pid) => pid !== process.pid);
}

/** Resolves when none is left, or at the deadline, with those that are. */
export async function waitForNone(mark: string, deadlineMs: number): Promise<number[]> {
  const end = Date.now() + deadlineMs;
  let left = await findProcesses(mark);
  while (left.length > 0 && Date.now() < end) {
    await new Promise((done) => setTimeout(done, pollMs));
    left = await findProcesses(mark);
  }
  return left;
}

/** Asks the processes to end, then ends them. */
export async function endProcesses(mark: string, graceMs: number): Promise<void> {
  signal(await findProcesses(mark), "SIGTERM");
  // Again and again, since one that is asked to end may start another one meanwhile.
  for (let left = await waitForNone(mark, graceMs); left.length > 0; left = await waitForNone(mark, pollMs)) {
    signal(left, "SIGKILL");
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It ended by itself.
    }
  }
}

async function fromProc(mark: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const marked = await Promise.all(
    pids.map(async (pid) => {
      // Gone meanwhile, or somebody else's.
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.includes(mark);
    }),
  );
  return pids.filter((_, index) => marked[index]).map(Number);
}

/** Where there is no /proc (macOS), `ps` shows the environment of our own processes behind their commands. */
async function fromPs(mark: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-E", "-o", "pid=,command="], { maxBuffer: 2 ** 26 });
  const lines = stdout.split("\n").filter((line) => line.includes(mark));
  return lines.map((line) => Number.parseInt(line, 10));
}

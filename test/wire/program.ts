import { spawn } from "node:child_process";

import type { Finished, RunOptions } from "./command.ts";

/** Somebody else's program that has to be answered while it runs. */
export interface Program {
  /** The next match in all that it has printed since the last one. @throws when it ends without */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  finished: Promise<Finished>;
  stop(): void;
}

export function startProgram(command: string, parameters: readonly string[], { cwd, env }: RunOptions = {}): Program {
  const child = spawn(command, parameters, {
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
  });
  const printed = { stdout: "", stderr: "", unread: "" };
  let wake = () => {};
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
      printed.unread += text;
      wake();
    });
  }
  const finished = new Promise<Finished>((done, fail) => {
    child.once("error", fail);
    child.once("close", (code) => {
      done({ code, stdout: printed.stdout, stderr: printed.stderr });
      wake();
    });
  });
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(printed.unread);
      if (match !== null) {
        printed.unread = printed.unread.slice(match.index + match[0].length);
        return match;
      }
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`It ended without ${pattern}:\n${printed.stdout}${printed.stderr}`);
      }
      await new Promise<void>((done) => (wake = done));
    }
  };
  return { until, finished, stop: () => void child.kill("SIGTERM") };
}

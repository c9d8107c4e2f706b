import { fileFinding } from "../domain/finding.ts";
import type { Finding } from "../domain/finding.ts";
import { maxFileBytes, maxFilesPerUpload, maxSkillBytes } from "../domain/limits.ts";
import { Junk } from "./junk.ts";

/**
 * What the three containers (zip, tar, form) have in common while they are read: which members count, how much they
 * may hold together, and what was wrong with each. A member's path is as sent; `readUpload` strips and judges it.
 */
export interface Remark {
  code: string;
  message: string;
  fix: string;
}

/** One thing that a container holds under a name, junk and folders aside. */
export interface Member {
  path: string;
  /** Undefined when the member was refused, or when unpacking stopped before it. */
  bytes?: Uint8Array;
  executable?: boolean;
  /** True when the name itself could not be read, so that rules about paths have nothing to judge. */
  isUnnamed?: boolean;
  remarks: Remark[];
}

/** Thrown when unpacking cannot go on; it becomes the one finding about the upload as a whole. */
export class Stop extends Error {
  readonly remark: Remark;

  constructor(remark: Remark) {
    super(remark.message);
    this.name = "Stop";
    this.remark = remark;
  }
}

/** The container is damaged, or is not what its content type says. */
export function broken(message: string, fix = "Make the archive again and send it whole."): Stop {
  return new Stop({ code: "archive_broken", message, fix });
}

export class Intake {
  readonly members: Member[] = [];
  readonly #junk = new Junk();
  readonly #remarks: Remark[] = [];
  #bytes = 0;

  /**
   * The member of that name, to be filled; undefined for junk.
   * @throws Stop past maxFilesPerUpload
   */
  admit(name: string): Member | undefined {
    // `tar -c .` and `find .` start every name with "./", which says nothing.
    const path = name.replace(/^(?:\.\/+)+/u, "");
    if (this.#junk.takes(path)) return undefined;
    if (this.members.length === maxFilesPerUpload) {
      throw new Stop({
        code: "too_many_files",
        message: `The upload holds more than ${maxFilesPerUpload} files (maxFilesPerUpload).`,
        fix: "Leave out generated and vendored files, or split the skill.",
      });
    }
    const member: Member = { path, remarks: [] };
    this.members.push(member);
    return member;
  }

  /**
   * Counts what a member is about to take up. False when it alone is too large, which is then remarked.
   * @throws Stop past maxSkillBytes
   */
  weigh(member: Member, bytes: number): boolean {
    if (bytes > maxFileBytes) {
      member.remarks.push({
        code: "file_too_large",
        message: `The file has ${bytes} bytes; the limit is ${maxFileBytes} bytes (maxFileBytes).`,
        fix: "Make the file smaller, or link to it instead.",
      });
      return false;
    }
    this.#bytes += bytes;
    if (this.#bytes > maxSkillBytes) throw tooLarge(`The files hold more than ${maxSkillBytes} bytes (maxSkillBytes).`);
    return true;
  }

  /** A remark about the upload as a whole that does not end the work. */
  remark(remark: Remark): void {
    this.#remarks.push(remark);
  }

  /** The findings about the upload as a whole. */
  findings(): Finding[] {
    return [...this.#remarks.map((remark) => fileFinding("error", remark.code, "", remark)), ...this.#junk.findings()];
  }
}

export function tooLarge(message: string): Stop {
  return new Stop({
    code: "skill_too_large",
    message,
    fix: "Leave out or shrink the largest files, or split the skill.",
  });
}

const lossy = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/**
 * A name as text. What is no UTF-8 becomes U+FFFD, which the path rules refuse; the mark at the start of a text is
 * kept, since it is part of the name.
 */
export function decodeName(bytes: Uint8Array): string {
  return lossy.decode(bytes);
}

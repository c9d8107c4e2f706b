import { describe, expect, it } from "vitest";

import { Nearest } from "../../src/domain/nearest.ts";

describe("the names nearest to one that nobody knows", () => {
  const known = new Nearest(["search_jobs", "find_jobs", "get_job", "apply/for.job", "list-mails", "sendMail"]);

  it.each([
    ["search_job", "search_jobs"],
    ["searchJobs", "search_jobs"],
    ["SEARCH-JOBS", "search_jobs"],
    ["getjob", "get_job"],
    ["apply", "apply/for.job"],
    ["send_mail", "sendMail"],
  ])("of %s begin with %s", (name, nearest) => {
    expect(known.to(name, 5)[0]).toBe(nearest);
  });

  it("are those that share a word too, best first, and no more than asked for", () => {
    expect(known.to("search_job", 5)).toContain("find_jobs");
    expect(known.to("search_job", 2)).toHaveLength(2);
  });

  it("are none where nothing is alike", () => {
    for (const name of ["weather", "x", "._-/"]) expect(known.to(name, 5)).toEqual([]);
    expect(new Nearest([]).to("search_jobs", 5)).toEqual([]);
  });
});

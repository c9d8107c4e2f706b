const plenty = "1000000000";

/** Worker vars of every registry that tests and the bench start: they ask and publish more than anybody would. */
export const limitsForTests = {
  RATE_READS: plenty,
  RATE_SEARCHES: plenty,
  RATE_WRITES: plenty,
  RATE_FAILED_CREDENTIALS: plenty,
  QUOTA_SKILLS: plenty,
  QUOTA_PUBLISHES_A_DAY: plenty,
  QUOTA_BYTES: `${plenty}000`,
};

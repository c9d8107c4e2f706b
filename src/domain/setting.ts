/**
 * A Worker var that holds a whole number. Empty and absent mean the default, and so does what is no whole number: a
 * misspelt limit must neither open the registry nor close it. The number means itself: 0 lets nothing through.
 */
export function numberOf(text: string | undefined, otherwise: number): number {
  const digits = (text ?? "").trim().replaceAll("_", "");
  if (!/^\d+$/.test(digits)) return otherwise;
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

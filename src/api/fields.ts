import * as z from "zod";

import { maxTitleLength } from "../domain/limits.ts";
import { roles } from "../domain/principal.ts";
import { withoutSecrets } from "../domain/redact.ts";

/**
 * Members that several bodies have. A secret in them is cut, because lists and the audit log show them. Half a
 * character (a lone surrogate) would come back as another one.
 */
export function textOf(maxLength: number) {
  return z
    .string()
    .overwrite(withoutSecrets)
    .max(maxLength)
    .refine((text) => text.isWellFormed(), "must be whole Unicode characters");
}

export const label = textOf(maxTitleLength).default("");

export const role = z.enum(roles);

export function wholeNumber(min: number, max: number, otherwise: number) {
  return z.int().min(min).max(max).default(otherwise);
}

export const millisecondsPerDay = 86_400_000;
export const millisecondsPerHour = 3_600_000;

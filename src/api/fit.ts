import type { Entry } from "../domain/entry.ts";
import { importers, misfitsOf } from "../domain/fit.ts";

/** Whether a release, or what a collection holds, fits the importers that are known, and by how much it does not. */
export function formatFit(entries: readonly Entry[]) {
  return {
    importers: importers.map((importer) => {
      const misfits = misfitsOf(importer, entries);
      return { importer, fits: misfits.length === 0, misfits };
    }),
  };
}

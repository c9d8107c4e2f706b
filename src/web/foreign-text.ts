/**
 * Text that others chose, made fit for a page on which a person decides: one line, of bounded length, in which nothing
 * is hidden and nothing changes the direction of what is around it. Escaping is left to the template.
 */
const maxNameLength = 100;
/** As long as the name of a host may be. */
const maxHostLength = 253;

/** Controls, directions, zero-width and other characters without a shape, and what no font has (unassigned, private). */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** They choose between two shapes of one emoji, and are as common as emoji are. */
const shapeSelectors = /[\uFE0E\uFE0F]/g;
/** More marks on one letter than any script needs reach over the lines above and below. */
const heapedMarks = /(\p{M}{3})\p{M}+/gu;

/** Cut at its end. */
export function shownText(text: string, maxLength = maxNameLength): string {
  const characters = [...visible(text)];
  return characters.length <= maxLength ? characters.join("") : `${characters.slice(0, maxLength - 1).join("")}…`;
}

/** Cut at its beginning, because the end of a host says whose it is. */
export function shownHost(host: string): string {
  const characters = [...visible(host)];
  return characters.length <= maxHostLength ? characters.join("") : `…${characters.slice(1 - maxHostLength).join("")}`;
}

function visible(text: string): string {
  return text
    .replaceAll(shapeSelectors, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(unseen, codeOf)
    .replaceAll(heapedMarks, "$1");
}

function codeOf(character: string): string {
  return `[U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}]`;
}

import type { Severity } from "./finding.ts";

/**
 * Every remark the scanner can make. Codes are part of the API and never change meaning. The intake has codes of
 * its own, about archives and paths (publish/, file-path.ts).
 *
 * `by` says who refuses: `sdk` errors are those which the official SDK's parser refuses as well, so that no client
 * could load the skill; `registry` errors are our own, stricter rules. Warnings and notices refuse nothing.
 */
export interface LintRow {
  severity: Severity;
  by: "sdk" | "registry";
  /** One line, for the README. */
  meaning: string;
}

const sdkError = (meaning: string) => ({ severity: "error", by: "sdk", meaning }) as const;
const ownError = (meaning: string) => ({ severity: "error", by: "registry", meaning }) as const;
const warning = (meaning: string) => ({ severity: "warning", by: "registry", meaning }) as const;
const notice = (meaning: string) => ({ severity: "notice", by: "registry", meaning }) as const;

export const findingTable = {
  // SKILL.md as a file.
  skill_md_missing: sdkError("There is no SKILL.md at the root of the skill"),
  skill_md_case: sdkError("The file is called skill.md or Skill.md; a warning where SKILL.md exists as well"),
  skill_md_not_utf8: sdkError("SKILL.md is not valid UTF-8"),
  skill_md_too_large: ownError("SKILL.md is larger than Claude Code loads"),
  skill_md_large: warning("SKILL.md is larger than ChatGPT imports"),
  skill_md_long: notice("SKILL.md has more lines than Agent Skills recommends"),
  cr_newlines: sdkError("The lines end with a lone carriage return"),
  stray_cr: warning("A lone carriage return, which only some readers take for a line end"),
  crlf: notice("SKILL.md has CRLF line ends, which are kept"),
  bom: notice("SKILL.md starts with a byte order mark, which is kept but hides the skill in some hosts"),
  invisible_character: warning("An invisible or bidirectional control character"),
  broken_link: warning("A relative link to a file that is not in the release"),

  // The frontmatter as YAML.
  frontmatter_missing: sdkError("There is no frontmatter"),
  frontmatter_not_first: sdkError("Something stands before the frontmatter"),
  frontmatter_unclosed: sdkError("No line --- closes the frontmatter"),
  frontmatter_refused: sdkError("The official SDK refuses the skill, in its own words"),
  frontmatter_too_large: ownError("The frontmatter is larger than we read"),
  unquoted_colon: sdkError('An unquoted value contains ": "'),
  unquoted_special: sdkError("An unquoted value starts with a character that YAML reserves"),
  unclosed_quote: sdkError("A quoted value does not close on its line"),
  unclosed_flow: sdkError("A [list] or {mapping} does not close on its line"),
  flow_syntax: sdkError("A [list] or {mapping} that cannot be read"),
  bad_escape: sdkError("An unknown escape in a double-quoted value"),
  text_after_value: sdkError("Text follows a quoted value or a collection"),
  comment_inside_value: sdkError("A comment interrupts a value of several lines"),
  number_not_json: sdkError("A number that JSON cannot express"),
  anchor_or_tag: sdkError("An anchor, an alias or a tag"),
  bad_block_header: sdkError("Something other than | or > and a chomping sign starts a block value"),
  not_key_value: sdkError('A line is not "key: value"'),
  bad_key: sdkError("A key that is not a plain string"),
  proto_key: sdkError("The key __proto__"),
  duplicate_key: sdkError("A key occurs twice"),
  tab_indent: sdkError("A tab indents the line"),
  bad_indent: sdkError("The indentation fits nothing above"),
  too_deep: sdkError("Nesting beyond 32 levels"),
  bom_in_frontmatter: sdkError("A byte order mark inside the frontmatter"),

  half_character: ownError("An escape makes half a character, a lone surrogate"),

  // The fields.
  name_missing: sdkError("There is no name"),
  name_not_string: sdkError("The name is not a string"),
  name_invalid: sdkError("The name is not 1 to 64 lowercase letters, digits and single hyphens"),
  name_mismatch: sdkError("The name differs from the last segment of the skill's path"),
  folder_mismatch: warning("The uploaded folder is called otherwise than the skill"),
  description_missing: sdkError("There is no description"),
  description_not_string: sdkError("The description is not a string"),
  description_blank: ownError("The description is blank"),
  description_too_long: sdkError("The description has more than 1024 characters"),
  angle_brackets: warning("The description contains something like a <Tag>"),
  value_cut_by_comment: warning("The description ends at a # that begins a comment"),
  compatibility_invalid: sdkError("The compatibility is not a string of 1 to 500 characters"),
  metadata_not_mapping: sdkError("The metadata is not a mapping"),
  metadata_value_nested: sdkError("A metadata value is a list or a mapping"),
  metadata_value_not_string: sdkError("A metadata value is a number, a boolean or null"),
  version_ignored: warning("metadata.version is no semantic version, so a publish does not use it"),
  license_not_string: warning("The license is not a string"),
  allowed_tools_commas: warning("allowed-tools is separated by commas instead of spaces"),
  allowed_tools_not_string: warning("allowed-tools is not a string"),
  unknown_key: warning("A key that the Agent Skills format does not define"),
  yaml_ambiguous: warning("YAML 1.1 and 1.2 read the value differently"),

  // The other files, and all of them together.
  secret_file: ownError("A file that holds secrets; a warning where the request allows it"),
  vendored_files: warning("Caches or installed packages"),
  nested_skill: notice("A SKILL.md in a deeper folder is an ordinary file of this skill"),
  archive_inside: notice("An archive, which no host unpacks"),
  budget_chatgpt: warning("More than ChatGPT imports"),
  more_findings: notice("There are more findings than are shown"),
} as const satisfies Record<string, LintRow>;

export type LintCode = keyof typeof findingTable;

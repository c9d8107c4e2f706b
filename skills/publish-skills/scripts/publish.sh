#!/bin/sh
# Publishes one folder as a skill and prints what the registry found. Needs a POSIX shell, curl, tar, gzip and awk.
set -u

usage() {
  cat <<'USAGE'
usage: publish.sh [options] FOLDER ORIGIN NAMESPACE

  FOLDER      the skill's folder, with SKILL.md at its root
  ORIGIN      e.g. http://localhost:8787 or https://registry.example.com
  NAMESPACE   e.g. acme

  -n          dry run: check everything, publish nothing
  -p PATH     folders and name inside the namespace, e.g. billing/refunds
  -v VERSION  e.g. 1.4.0 (default: metadata.version, else the next patch)
  -s WHO      public, unlisted or private
  -h          this text

The token is read from the environment variable SKILL_REGISTRY_TOKEN.

exit codes: 0 accepted or unchanged; 1 refused, the upload has errors; 2 wrong usage; 3 conflict with an existing
release; 4 the token does not allow it, or there is no such namespace; 5 network or server failure
USAGE
}

wrong() {
  printf 'publish.sh: %s\n' "$1" >&2
  exit 2
}

query=
add() { query="$query${query:+&}$1=$2"; }

while getopts np:v:s:h option; do
  case $option in
    n) add dry_run true ;;
    p) case $OPTARG in '' | *[!a-z0-9/-]*) wrong "not a path: $OPTARG" ;; *) add path "$OPTARG" ;; esac ;;
    v) case $OPTARG in '' | *[!A-Za-z0-9.-]*) wrong "not a version: $OPTARG" ;; *) add version "$OPTARG" ;; esac ;;
    s)
      case $OPTARG in
        public | unlisted | private) add visibility "$OPTARG" ;;
        *) wrong "not a visibility: $OPTARG" ;;
      esac
      ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -eq 3 ] || { usage >&2; exit 2; }
folder=$1 origin=${2%/} namespace=$3

[ -d "$folder" ] || wrong "no such folder: $folder"
[ -f "$folder/SKILL.md" ] || wrong "there is no SKILL.md in $folder"
case $origin in http://?* | https://?*) ;; *) wrong "not an origin: $origin" ;; esac
case $namespace in '' | *[!a-z0-9-]*) wrong "not a namespace: $namespace" ;; esac
# The token is written into a curl configuration below, so it must not be able to end its line.
case ${SKILL_REGISTRY_TOKEN:-} in
  '') wrong 'SKILL_REGISTRY_TOKEN is not set' ;;
  *[!A-Za-z0-9._~+/=-]*) wrong 'SKILL_REGISTRY_TOKEN holds characters that no token has' ;;
esac

work=$(mktemp -d) || exit 5
trap 'rm -rf "$work"' EXIT
trap 'exit 5' HUP INT TERM

# Packed under its own name, so that the registry can compare folder and skill. COPYFILE_DISABLE keeps the tar of
# macOS from adding a ._ file for each file.
root=$(cd "$folder" && pwd -P) || exit 5
[ "$root" != / ] || wrong 'the root of the file system is not a skill'
COPYFILE_DISABLE=1 tar -C "$(dirname "$root")" -cf "$work/skill.tar" \
  --exclude='.git' --exclude='.DS_Store' --exclude='._*' --exclude='__MACOSX' \
  --exclude='Thumbs.db' --exclude='desktop.ini' -- "$(basename "$root")" || exit 5
gzip -n "$work/skill.tar" || exit 5

# The token goes in through standard input: arguments are visible to every process of the machine. Repeating is safe,
# since the same bytes are never released twice.
url="$origin/api/v1/namespaces/$namespace/skills${query:+?$query}"
status=$(
  printf 'header = "Authorization: Bearer %s"\n' "$SKILL_REGISTRY_TOKEN" |
    curl --config - --silent --show-error --retry 2 --max-time 120 --output "$work/answer" --write-out '%{http_code}' \
      --header 'Content-Type: application/gzip' --header 'Accept: application/json' --header 'Expect:' \
      --data-binary "@$work/skill.tar.gz" "$url"
) || exit 5

# Prints the plain members of the JSON answer, then each finding on a line of its own, its fix below.
touch "$work/answer"
LC_ALL=C awk '
  { json = json $0 "\n" }
  END {
    size = length(json); at = 1; blank()
    if (substr(json, at, 1) != "{") { printf "%s", substr(json, 1, 500); exit }
    value("", 0)
    for (i = 1; i <= found; i++) print line[i]
  }

  function value(path, depth,   mark) {
    blank(); mark = substr(json, at, 1)
    if (mark == "{") members(path, depth)
    else if (mark == "[") elements(path, depth)
    else leaf(path, depth, mark == "\"" ? text() : word())
  }
  function members(path, depth,   key, isFinding) {
    isFinding = path ~ /(^|\.)findings\[\]$/
    if (isFinding) split("", finding)
    at++; blank()
    while (at <= size && substr(json, at, 1) != "}") {
      key = text(); blank(); at++
      value(path == "" ? key : path "." key, depth + 1)
      comma()
    }
    at++
    if (isFinding) remember()
  }
  function elements(path, depth) {
    at++; blank()
    while (at <= size && substr(json, at, 1) != "]") { value(path "[]", depth + 1); comma() }
    at++
  }
  function leaf(path, depth, content) {
    if (match(path, /findings\[\]\./)) finding[substr(path, RSTART + RLENGTH)] = content
    else if (path !~ /\[\]/ && depth <= 2) print path ": " content
  }
  function remember(   place) {
    place = finding["file"]
    if (finding["line"] ~ /^[0-9]/) place = place ":" finding["line"]
    if (finding["column"] ~ /^[0-9]/) place = place ":" finding["column"]
    if (place != "") place = place ": "
    line[++found] = sprintf("%-7s %s%s [%s]", finding["severity"], place, finding["message"], finding["code"])
    if (finding["fix"] != "") line[found] = line[found] "\n        fix: " finding["fix"]
    if (finding["fixed"] != "") line[found] = line[found] "\n        " finding["fixed"]
  }
  function text(   out, char) {
    out = ""; at++
    while (at <= size && (char = substr(json, at, 1)) != "\"") {
      if (char == "\\") {
        char = substr(json, ++at, 1)
        if (char == "n") char = "\n        "
        else if (char == "t") char = "\t"
        else if (char ~ /[bfru]/) char = "\\" char
      }
      out = out char; at++
    }
    at++
    return out
  }
  function word(   from) {
    from = at
    while (at <= size && substr(json, at, 1) !~ /[],} \n\t\r]/) at++
    if (at == from) at++
    return substr(json, from, at - from)
  }
  function blank() { while (substr(json, at, 1) ~ /[ \n\t\r]/) at++ }
  function comma() { blank(); if (substr(json, at, 1) == ",") { at++; blank() } }
' "$work/answer"

case $status in
  2??) exit 0 ;;
  400 | 413 | 415 | 422) exit 1 ;;
  409) exit 3 ;;
  401 | 403 | 404) exit 4 ;;
  *) printf 'publish.sh: HTTP %s from %s\n' "$status" "$url" >&2; exit 5 ;;
esac

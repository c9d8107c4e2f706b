"""What all of these programs share: the stage, rows, a publish, and the bytes that are right."""

import asyncio
import hashlib
import io
import json
import os
import tarfile
import time
import urllib.request
from contextlib import asynccontextmanager
from urllib.parse import unquote

STAGE = json.loads(os.environ["REGISTRY"])
ORIGIN = STAGE["origin"]
NAMESPACE = STAGE["namespace"]
PRIVATE = STAGE["privateNamespace"]
PUBLIC_MCP = f"{ORIGIN}/mcp/{NAMESPACE}"
PRIVATE_MCP = f"{ORIGIN}/mcp/{PRIVATE}"
SKILL = f"skill://{NAMESPACE}/match-candidates/SKILL.md"
QUESTION = "which vacancy suits this CV"

# The eras, and how the two clients that know both are told to speak them.
ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}

# Of test/wire/library.ts: bytes that are no text, and a text whose BOM, CRLF and name are easily lost.
ODD_FILES = {
    f"skill://{NAMESPACE}/match-candidates/assets/sample.bin": b"\xff\x00\xfe\x80",
    f"skill://{NAMESPACE}/match-candidates/references/Grüße & Anrede.md": "\ufeffSehr geehrte …\r\n".encode(),
}


class ClientFails(Exception):
    """What went wrong is the client's doing; the message is the evidence."""


@asynccontextmanager
async def row(client: str, version: str, era: str, tried: str):
    """Says how the block went. What it raises is our failure, unless it says ClientFails. Yields the note."""
    note: list[str] = []
    result = "passed"
    try:
        yield note
    except ClientFails as error:
        result, note = "client fails", [str(error)]
    except Exception as error:  # the next row is tried all the same
        result, note = "failed", [explain(error)]
    line = {"client": client, "version": version, "era": era, "tried": tried, "result": result}
    if note:
        line["note"] = "; ".join(note)
    print("interop-row " + json.dumps(line, ensure_ascii=False), flush=True)


def explain(error: BaseException) -> str:
    """Of a group what is inside, since task groups wrap everything."""
    if isinstance(error, BaseExceptionGroup):
        return " | ".join(explain(inner) for inner in error.exceptions)
    return f"{type(error).__name__}: {error}"[:600]


def check(holds: object, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def check_file(file: dict, content: bytes) -> None:
    """Size and digest of one line of a skill's manifest, and the bytes themselves where we know them."""
    uri = file["uri"]
    check(len(content) == file["size"], f"{uri}: {len(content)} bytes instead of {file['size']}")
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    check(digest == file["digest"], f"{uri}: {digest} instead of {file['digest']}")
    check(ODD_FILES.get(unquote(uri), content) == content, f"{uri}: {content!r}")


def publish(name: str, text: str = "Steps.") -> None:
    """One release, with the publisher's token, as the README does it."""
    skill = f"---\nname: {name}\ndescription: A skill that somebody publishes while clients listen.\n---\n# {text}\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("SKILL.md")
        entry.size = len(skill.encode())
        archive.addfile(entry, io.BytesIO(skill.encode()))
    request = urllib.request.Request(
        f"{ORIGIN}/api/v1/namespaces/{NAMESPACE}/skills",
        data=packed.getvalue(),
        headers={"authorization": f"Bearer {STAGE['publisherToken']}", "content-type": "application/gzip"},
    )
    with urllib.request.urlopen(request) as answer:
        check(answer.status == 201, f"the publish was answered {answer.status}")


def fresh_name(prefix: str) -> str:
    return f"{prefix}-{time.time_ns() % 10**9}"


async def hear(heard: asyncio.Queue, wanted: set) -> None:
    """Waits until each was heard; the same may come twice, since a publish just before may still be told."""
    missing = set(wanted)
    try:
        while missing:
            missing.discard(await asyncio.wait_for(heard.get(), 10))
    except TimeoutError:
        raise AssertionError(f"never heard {missing}") from None

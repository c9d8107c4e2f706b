"""FastMCP's client, in both eras. Its read_skill checks size, digest and frontmatter of all it reads; it wants 2026-07-28 for skills."""

import asyncio
import base64
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

import httpx2
import mcp_types as types
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.skills import SkillsClientExtension
from mcp.client.subscriptions import Subscription, listen

from common import (
    ERAS,
    NAMESPACE,
    ODD_FILES,
    ORIGIN,
    PRIVATE,
    PRIVATE_MCP,
    PUBLIC_MCP,
    QUESTION,
    SKILL,
    STAGE,
    ClientFails,
    check,
    check_file,
    explain,
    fresh_name,
    hear,
    publish,
    row,
)

CLIENT = "FastMCP client"
VERSION = version("fastmcp")


def connect(url: str, era: str, **options: Any) -> Client:
    return Client(url, mode=ERAS[era], extensions=[SkillsClientExtension()], **options)


async def read_bytes(client: Client, uri: str) -> bytes:
    (content,) = await client.read_resource(uri)
    if isinstance(content, types.TextResourceContents):
        return content.text.encode()
    return base64.b64decode(content.blob, validate=True)


async def try_tools(client: Client, era: str) -> None:
    async with row(CLIENT, VERSION, era, "connect; list, search and load by tools"):
        check(client.protocol_version == era, f"negotiated {client.protocol_version}")
        names = {tool.name for tool in await client.list_tools()}
        check({"search_skills", "load_skill"} <= names, f"tools: {names}")
        found = (await client.call_tool("search_skills", {"query": QUESTION})).structured_content
        check(found["cards"][0]["uri"] == SKILL, f"found {found}")
        loaded = await client.call_tool("load_skill", {"uri": SKILL})
        text = "\n".join(block.text for block in loaded.content if block.type == "text")
        check("name: match-candidates" in text, f"loaded {text[:500]}")


async def try_resources(client: Client, era: str) -> None:
    async with row(CLIENT, VERSION, era, "skills as resources; odd bytes"):
        listed = {str(resource.uri) for resource in await client.list_skill_resources()}
        check(SKILL in listed, f"listed {listed}")
        for uri, content in ODD_FILES.items():
            got = await read_bytes(client, canonical(uri))
            check(got == content, f"{uri}: {got!r}")


def canonical(uri: str) -> str:
    """As the registry spells it: what RFC 3986 lets a path hold stays, `&` among it."""
    return uri.replace(" ", "%20").replace("ü", "%C3%BC").replace("ß", "%C3%9F")


async def try_skills(client: Client, era: str) -> None:
    async with row(CLIENT, VERSION, era, "list_skills, get_skill; read_skill, which verifies") as note:
        if era == "2025-11-25":
            try:
                await client.list_skills()
            except RuntimeError as error:
                raise ClientFails(f"refuses before it asks: {explain(error)}") from None
        skills = await client.list_skills()
        for skill in skills:
            check(await client.get_skill(skill.uri) == skill, f"skills/get differs from the list: {skill.uri}")
            read = await client.read_skill(skill.uri)
            for file in skill.resources:
                content = await read_bytes(client, file.uri)
                check_file(file.model_dump(), content)
                path = unquote(file.uri.removeprefix(skill.uri.removesuffix("SKILL.md")))
                check(read.files[path] == content, f"{file.uri} differs")
        note.append(f"{len(skills)} skills, {sum(len(skill.resources) for skill in skills)} files")


async def try_changes(era: str) -> None:
    async with row(CLIENT, VERSION, era, "told of a publish: list_changed") as note:
        name = fresh_name("fastmcp")
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def on_message(message: Any) -> None:
            if isinstance(message, types.ResourceListChangedNotification):
                await heard.put("list_changed")

        async def pass_on(stream: Subscription) -> None:
            async for _event in stream:
                await heard.put("list_changed")

        async with connect(PUBLIC_MCP, era, message_handler=on_message) as client, AsyncExitStack() as stack:
            if era == "2026-07-28":
                note.append("FastMCP has no call for it: the SDK's `listen` over `client.session`")
                stream = await stack.enter_async_context(listen(client.session, resources_list_changed=True))
                listening = asyncio.create_task(pass_on(stream))
                stack.callback(listening.cancel)
            else:
                await asyncio.sleep(1)  # the GET stream opens in the background
            publish(name)
            await hear(heard, {"list_changed"})
            uris = {str(resource.uri) for resource in await client.list_skill_resources()}
            check(f"skill://{NAMESPACE}/{name}/SKILL.md" in uris, "the new skill is not listed")


async def try_private(era: str) -> None:
    async with row(CLIENT, VERSION, era, "private namespace: bearer token, read link; refused without") as note:
        uri = f"skill://{PRIVATE}/inner-secret/SKILL.md"
        async with connect(PRIVATE_MCP, era, auth=BearerAuth(STAGE["readerToken"])) as client:
            check(b"# Inner" in await read_bytes(client, uri), "another text")
        async with connect(f"{STAGE['readLink']}/mcp", era) as client:
            check(b"# Inner" in await read_bytes(client, uri), "another text")
        for url in (PRIVATE_MCP, f"{ORIGIN}/mcp/no-such-desk"):
            shown = await refusal(url, era)
        note.append(f"without, as for a namespace that does not exist: {shown}")


async def refusal(url: str, era: str) -> str:
    """What a stranger sees: the client hides the status, so it is read off the wire."""
    statuses: set[int] = set()

    async def keep(response: httpx2.Response) -> None:
        statuses.add(response.status_code)

    def make_http(**options: Any) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(**options, event_hooks={"response": [keep]})

    try:
        async with Client(StreamableHttpTransport(url, httpx_client_factory=make_http), mode=ERAS[era]) as client:
            await client.list_tools()
    except Exception as error:
        check(statuses == {401}, f"{url} answered {statuses}")
        return f"401, shown as {explain(error)!r}"
    raise AssertionError(f"a stranger connected to {url}")


async def main() -> None:
    for era in ERAS:
        async with connect(PUBLIC_MCP, era) as client:
            await try_tools(client, era)
            await try_resources(client, era)
            await try_skills(client, era)
        await try_changes(era)
        await try_private(era)


asyncio.run(main())

"""The official SDK's client, in both eras. It has no methods for skills (python-sdk#3485): they are sent as requests of our own."""

import asyncio
import base64
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any, Literal
from urllib.parse import unquote

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated, Subscription

from common import (
    ERAS,
    ODD_FILES,
    PRIVATE,
    PRIVATE_MCP,
    PUBLIC_MCP,
    QUESTION,
    SKILL,
    STAGE,
    check,
    check_file,
    explain,
    fresh_name,
    hear,
    publish,
    row,
)

CLIENT = "Python SDK (mcp)"
VERSION = version("mcp")


class SkillsResult(types.Result):
    """`extra` keeps what the SDK has no name for."""

    model_config = {**types.Result.model_config, "extra": "allow"}


class ListSkills(types.Request[types.PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"


class UriParams(types.RequestParams):
    uri: str


class GetSkill(types.Request[UriParams, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"


class ReadDirectory(types.Request[UriParams, Literal["resources/directory/read"]]):
    method: Literal["resources/directory/read"] = "resources/directory/read"


async def ask(client: Client, request: types.Request) -> dict[str, Any]:
    answer = await client.session.send_request(request, SkillsResult)
    return answer.model_dump(by_alias=True)


async def list_skills(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await ask(client, ListSkills(params=types.PaginatedRequestParams(cursor=cursor)))
        found += page["skills"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return found


async def read_bytes(client: Client, uri: str) -> bytes:
    (content,) = (await client.read_resource(uri)).contents
    check(str(content.uri) == uri, f"asked for {uri}, got {content.uri}")
    if isinstance(content, types.TextResourceContents):
        return content.text.encode()
    return base64.b64decode(content.blob, validate=True)


async def try_tools(client: Client, era: str) -> None:
    async with row(CLIENT, VERSION, era, "connect; list, search and load by tools"):
        check(client.session.protocol_version == era, f"negotiated {client.session.protocol_version}")
        names = [tool.name for tool in (await client.list_tools()).tools]
        check({"search_skills", "load_skill"} <= set(names), f"tools: {names}")
        found = (await client.call_tool("search_skills", {"query": QUESTION})).structured_content
        check(found["cards"][0]["uri"] == SKILL, f"found {found}")
        loaded = await client.call_tool("load_skill", {"uri": SKILL})
        text = "\n".join(block.text for block in loaded.content if block.type == "text")
        check("name: match-candidates" in text, f"loaded {text[:500]}")


async def try_skills(client: Client, era: str) -> None:
    async with row(CLIENT, VERSION, era, "skills/list, skills/get, directory; every file to the byte") as note:
        check("io.modelcontextprotocol/skills" in (client.server_capabilities.extensions or {}), "no extension")
        skills = await list_skills(client)
        files = 0
        for skill in skills:
            got = await ask(client, GetSkill(params=UriParams(uri=skill["uri"])))
            check(got["skill"] == skill, f"skills/get differs from the list: {got['skill']}")
            for file in skill["resources"]:
                check_file(file, await read_bytes(client, file["uri"]))
                files += 1
        listed = {unquote(file["uri"]) for skill in skills for file in skill["resources"]}
        check(set(ODD_FILES) <= listed, f"not listed: {set(ODD_FILES) - listed}")
        children = await ask(client, ReadDirectory(params=UriParams(uri=SKILL.removesuffix("/SKILL.md"))))
        check(len(children["resources"]) == 3, f"the skill's folder holds {children['resources']}")
        note.append(f"as requests of our own, since {VERSION} has no skills methods; {len(skills)} skills, {files} files")


async def try_changes(era: str) -> None:
    async with row(CLIENT, VERSION, era, "told of a publish: list_changed, and updated for a watched skill") as note:
        name = fresh_name("sdk")
        uri = SKILL.replace("match-candidates", name)
        publish(name)
        heard: asyncio.Queue[tuple[str, str | None]] = asyncio.Queue()

        async def on_message(message: Any) -> None:
            if isinstance(message, types.ResourceListChangedNotification):
                await heard.put(("list_changed", None))
            if isinstance(message, types.ResourceUpdatedNotification):
                await heard.put(("updated", str(message.params.uri)))

        async def pass_on(stream: Subscription) -> None:
            async for event in stream:
                is_update = isinstance(event, ResourceUpdated)
                await heard.put(("updated", event.uri) if is_update else ("list_changed", None))

        async with Client(PUBLIC_MCP, mode=ERAS[era], message_handler=on_message) as client, AsyncExitStack() as stack:
            if era == "2025-11-25":
                # The client opens its GET stream by itself, in the background, and says nothing about it.
                await client.session.send_request(types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)), types.EmptyResult)
                await asyncio.sleep(1)
            else:
                note.append("over subscriptions/listen (client.listen)")
                stream = client.listen(resources_list_changed=True, resource_subscriptions=[uri])
                subscription = await stack.enter_async_context(stream)
                check(subscription.honored.resources_list_changed, f"acknowledged {subscription.honored}")
                listening = asyncio.create_task(pass_on(subscription))
                stack.callback(listening.cancel)
            publish(name, "Other steps.")
            await hear(heard, {("list_changed", None), ("updated", uri)})
            text = (await read_bytes(client, uri)).decode()
            check("Other steps" in text, f"after the notification it reads {text!r}")


async def try_private(era: str) -> None:
    async with row(CLIENT, VERSION, era, "private namespace: bearer token, read link; refused without") as note:
        headers = {"authorization": f"Bearer {STAGE['readerToken']}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(PRIVATE_MCP, http_client=http)
            async with Client(transport, mode=ERAS[era]) as client:
                check_private(await list_skills(client))
                await read_bytes(client, f"skill://{PRIVATE}/inner-secret/SKILL.md")
        async with Client(f"{STAGE['readLink']}/mcp", mode=ERAS[era]) as client:
            check_private(await list_skills(client))
        note.append(f"without: {await refusal(era)}")


def check_private(skills: list[dict[str, Any]]) -> None:
    check([skill["frontmatter"]["name"] for skill in skills] == ["inner-secret"], f"listed {skills}")


async def refusal(era: str) -> str:
    """What a stranger sees: the client hides the status, so it is read off the wire."""
    seen: list[httpx2.Response] = []

    async def keep(response: httpx2.Response) -> None:
        seen.append(response)

    try:
        async with httpx2.AsyncClient(event_hooks={"response": [keep]}) as http:
            async with Client(streamable_http_client(PRIVATE_MCP, http_client=http), mode=ERAS[era]) as client:
                await client.list_tools()
    except Exception as error:
        check({answer.status_code for answer in seen} == {401}, f"answered {seen}")
        check("resource_metadata" in seen[0].headers["www-authenticate"], f"headers {seen[0].headers}")
        return f"401, shown as {explain(error)!r}"
    raise AssertionError("a stranger connected to a private namespace")


async def main() -> None:
    for era, mode in ERAS.items():
        # Connecting is inside no row, so its failure is the program's: nothing else could be tried either.
        async with Client(PUBLIC_MCP, mode=mode, extensions=[advertise("io.modelcontextprotocol/skills")]) as client:
            await try_tools(client, era)
            await try_skills(client, era)
        await try_changes(era)
        await try_private(era)


asyncio.run(main())

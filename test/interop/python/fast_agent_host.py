"""
fast-agent as its users drive it: its `/skills` commands list, get and install (which verifies) from MCP servers, in both
eras, with a model that only echoes. Other skills of this machine are kept out of sight by a home of its own.
"""

import asyncio
import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fast_agent import FastAgent
from fast_agent.commands.harness import execute_harness_command
from fast_agent.config import MCPServerSettings

from common import (
    NAMESPACE,
    ODD_FILES,
    PRIVATE_MCP,
    PUBLIC_MCP,
    QUESTION,
    SKILL,
    STAGE,
    ClientFails,
    check,
    explain,
    fresh_name,
    publish,
    row,
)

CLIENT = "fast-agent"
VERSION = version("fast-agent-mcp")
ERAS = {"2025-11-25": "legacy", "2026-07-28": "auto"}
# fast-agent appends "/mcp" to an address that does not end in it, unless it has a query.
AS_IS = "?as-is"


def settings() -> dict[str, Any]:
    servers = {}
    for era, mode in ERAS.items():
        common = {"transport": "http", "protocol_mode": mode}
        bearer = {"headers": {"Authorization": f"Bearer {STAGE['readerToken']}"}}
        servers[f"desk-{era}"] = {**common, "url": PUBLIC_MCP + AS_IS}
        servers[f"tools-{era}"] = {**common, "url": f"{PUBLIC_MCP}/as-tools{AS_IS}"}
        servers[f"inner-{era}"] = {**common, "url": PRIVATE_MCP + AS_IS, **bearer}
        servers[f"link-{era}"] = {**common, "url": f"{STAGE['readLink']}/mcp"}
    return {"default_model": "passthrough", "mcp": {"servers": servers}}


class Host:
    """One agent with all servers; what it installs is below `installed`."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.installed = Path(".fast-agent/skills")
        self.sources: dict[str, str] = {}

    async def command(self, line: str) -> str:
        return await execute_harness_command(self.agent, line, skill_source_overrides=self.sources)

    async def available(self, words: str = "available") -> dict[str, str]:
        catalog = json.loads(await self.command(f"/skills {words} --json --limit 100"))
        return {skill["name"]: skill["source_url"] for skill in catalog["skills"]}

    async def has_tool(self, wanted: str) -> bool:
        """It hears of a tool by tools/list_changed alone."""
        for _ in range(20):
            if wanted in [tool.name for tool in (await self.agent.aggregator.list_tools()).tools]:
                return True
            await asyncio.sleep(0.25)
        return False

    async def install(self, selector: str, name: str) -> Path:
        said = await self.command(f"/skills add {selector}")
        check("SHA-256 digests matched" in said, said)
        return self.installed / name


async def try_address() -> None:
    async with row(CLIENT, VERSION, "any", "an address of a namespace, as written") as note:
        url = MCPServerSettings(name="desk", transport="http", url=PUBLIC_MCP).url
        if url != PUBLIC_MCP:
            asked = url.removeprefix(STAGE["origin"])
            raise ClientFails(f"asks {asked}: it appends /mcp to what does not end so; with a query behind it (?x) it does not")
        note.append("kept")


async def try_tools(host: Host, era: str) -> None:
    async with row(CLIENT, VERSION, era, "connect; search and load by tools"):
        status = (await host.agent.get_server_status())[f"desk-{era}"]
        check(status.protocol_version == era, f"negotiated {status.protocol_version}")
        found = await host.agent.aggregator.call_tool(f"desk-{era}__search_skills", {"query": QUESTION})
        check(found.structured_content["cards"][0]["uri"] == SKILL, f"found {found}")
        loaded = await host.agent.aggregator.call_tool(f"desk-{era}__load_skill", {"uri": SKILL})
        check(any("name: match-candidates" in block.text for block in loaded.content), f"loaded {loaded}")


async def try_skills(host: Host, era: str) -> None:
    async with row(CLIENT, VERSION, era, "/skills registry, available, search, add, list, remove; bytes on disk") as note:
        await host.command(f"/skills registry desk-{era}")
        listed = await host.available()
        check(listed.get("match-candidates") == SKILL, f"available: {listed}")
        found = await host.available("search interview")
        check(list(found) == ["schedule-interviews"], f"found {found}")
        folder = await host.install("match-candidates", "match-candidates")
        for uri, content in ODD_FILES.items():
            on_disk = (folder / uri.removeprefix(SKILL.removesuffix("SKILL.md"))).read_bytes()
            check(on_disk == content, f"{uri}: {on_disk!r}")
        said = await host.command("/skills list")
        check("SHA-256 checked at install (4 files" in said, said)
        await host.command("/skills remove match-candidates")
        await host.install("skill://hiring-desk/check-references/SKILL.md", "check-references")
        await host.command("/skills remove check-references")
        note.append(f"{len(listed)} skills; one added by name (skills/list), one by address (skills/get)")


async def try_changes(host: Host, era: str) -> None:
    name = fresh_name("fast-agent")
    uri = f"skill://{NAMESPACE}/{name}/SKILL.md"
    async with row(CLIENT, VERSION, era, "/skills update after a publish"):
        publish(name)
        folder = await host.install(uri, name)
        publish(name, "Other steps.")
        said = await host.command(f"/skills update {name} --yes")
        check("status: updated" in said, said)
        check("Other steps" in (folder / "SKILL.md").read_text(), "the old text is still on disk")
        await host.command(f"/skills remove {name}")
    async with row(CLIENT, VERSION, era, "told of a publish: its tool appears, where each skill is a tool"):
        check(await host.has_tool(f"tools-{era}__{name}"), f"no tool {name}")
    async with row(CLIENT, VERSION, era, "told of a publish: /skills available shows it"):
        if name not in await host.available():
            await host.command(f"/mcp reconnect desk-{era}")
            later = "after /mcp reconnect it is there" if name in await host.available() else "not even reconnected"
            raise ClientFails(f"keeps the list of when it connected and heeds no list_changed; {later}")


async def try_private(host: Host, era: str) -> None:
    async with row(CLIENT, VERSION, era, "private namespace: bearer token, read link; refused without") as note:
        for server in ("inner", "link"):
            await host.command(f"/skills registry {server}-{era}")
            check(list(await host.available()) == ["inner-secret"], f"available: {await host.available()}")
            folder = await host.install("inner-secret", "inner-secret")
            check("# Inner" in (folder / "SKILL.md").read_text(), "another text")
            await host.command("/skills remove inner-secret")
        mode = ERAS[era]
        try:
            said = await host.command(f"/mcp connect {PRIVATE_MCP}{AS_IS} --name stranger --no-oauth --protocol {mode}")
        except Exception as error:
            said = explain(error)
        stranger = (await host.agent.get_server_status()).get("stranger")
        check(stranger is None or not stranger.is_connected, f"a stranger connected: {said}")
        check("Failed to connect MCP server 'stranger'" in said, f"refused otherwise: {said}")
        note.append("without: it only says that the server returned an error")


async def main() -> None:
    fast = FastAgent("interop", config_path="fast-agent.yaml", parse_cli_args=False, quiet=True)
    agent_of_all = fast.agent("main", instruction="Echo.", servers=list(settings()["mcp"]["servers"]))
    agent_of_all(lambda: None)
    async with fast.run() as app:
        host = Host(app._agent("main"))
        for era in ERAS:
            await try_tools(host, era)
            await try_skills(host, era)
            await try_changes(host, era)
            await try_private(host, era)


async def start() -> None:
    await try_address()
    await main()


with tempfile.TemporaryDirectory() as home:
    os.chdir(home)
    Path("fast-agent.yaml").write_text(json.dumps(settings()))
    asyncio.run(start())

"""Clients that sign in by themselves: what opens the browser is theirs, and behind it sits the scripted person of $BROWSER."""

import asyncio
import logging
import os
import subprocess
import time
import webbrowser
from contextlib import asynccontextmanager
from importlib.metadata import version
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastmcp import Client as FastMCPClient
from fastmcp.client.auth import OAuth
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from common import ERAS, ORIGIN, PRIVATE, PRIVATE_MCP, check, explain, row

TRIED = "its own OAuth from nothing; refreshes; asks again once that is withdrawn at /account"
SECRET = f"skill://{PRIVATE}/inner-secret/SKILL.md"


class AskedAgain(Exception):
    """The client wants the person to sign in once more."""


class Memory:
    """Where a host keeps what the SDK wants kept."""

    tokens = None
    client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


class Listener:
    """A host's address on loopback, which the browser comes to once."""

    def __init__(self) -> None:
        self.arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self) -> str:
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/callback"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode()
        if "code=" in line and not self.arrived.done():
            self.arrived.set_result(line.split()[1])
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def result(self) -> AuthorizationCodeResult:
        asked = parse_qs(urlsplit(await asyncio.wait_for(self.arrived, 30)).query)
        self.server.close()
        return AuthorizationCodeResult(code=asked["code"][0], state=asked["state"][0], iss=asked["iss"][0])


async def sdk_provider() -> OAuthClientProvider:
    listener = Listener()

    async def redirect(url: str) -> None:
        provider.asked += 1
        if provider.asked > 1:
            raise AskedAgain
        webbrowser.open(url)

    metadata = OAuthClientMetadata(client_name="A host of the Python SDK", redirect_uris=[await listener.open()])
    provider = OAuthClientProvider(PRIVATE_MCP, metadata, Memory(), redirect, listener.result)
    provider.asked = 0
    return provider


class FastMCPOAuth(OAuth):
    asked = 0

    async def redirect_handler(self, authorization_url: str) -> None:
        self.asked += 1
        if self.asked > 1:
            raise AskedAgain
        await super().redirect_handler(authorization_url)


@asynccontextmanager
async def sdk_client(provider: OAuthClientProvider, era: str):
    async with httpx2.AsyncClient(auth=provider) as http:
        async with Client(streamable_http_client(PRIVATE_MCP, http_client=http), mode=ERAS[era]) as client:
            yield client


@asynccontextmanager
async def fastmcp_client(provider: OAuth, era: str):
    async with FastMCPClient(PRIVATE_MCP, auth=provider, mode=ERAS[era]) as client:
        yield client


async def find(client) -> bool:
    """By a search, whose answer no client keeps."""
    found = await client.call_tool("search_skills", {"query": "what only we know"})
    return SECRET in str(found)


async def try_sign_in(name: str, package: str, era: str, provider: OAuthClientProvider, connect) -> None:
    async with row(name, version(package), era, TRIED):
        async with connect(provider, era) as client:
            check(SECRET in str(await client.list_resources()), "it does not list the private skill")
            check(await find(client), "it does not find the private skill")
            before = provider.context.current_tokens
            provider.context.token_expiry_time = time.time() - 1
            check(await find(client), "it does not find it after its access token ended")
            after = provider.context.current_tokens
            check(before.access_token != after.access_token, "it did not refresh")
            check(before.refresh_token != after.refresh_token, "the refresh token is the old one")
        withdrawn = subprocess.run([os.environ["BROWSER"], "--withdraw", ORIGIN], capture_output=True, text=True)
        check(withdrawn.stdout.strip() == "1", f"withdrawn: {withdrawn.stdout}{withdrawn.stderr}")
        try:
            async with connect(provider, era) as client:
                check(not await find(client), "it still finds it after its sign-in was withdrawn")
        except Exception as error:
            refusal = explain(error)
        else:
            refusal = "nothing was found"
        check(provider.asked == 2, f"refused otherwise: {refusal}")


async def main() -> None:
    for era in ERAS:
        await try_sign_in("Python SDK (mcp)", "mcp", era, await sdk_provider(), sdk_client)
        await try_sign_in("FastMCP client", "fastmcp", era, FastMCPOAuth(), fastmcp_client)


# Both log every address and every refusal.
logging.disable(logging.CRITICAL)
asyncio.run(main())

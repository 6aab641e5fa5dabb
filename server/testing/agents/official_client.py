"""
The official Python client in a process of its own, as a user runs it: reads how it connects and
what it asks, as JSON in its one argument, and prints the answers as JSON. Each has passed the types
that the client brings; a failure is printed as `{code, message}`.
"""
import asyncio
import json
import re
import sys

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.stdio import stdio_client

given = json.loads(sys.argv[1])
connection = given["connection"]


def transport():
    if "url" not in connection:
        return stdio_client(StdioServerParameters(**connection), errlog=open("/dev/null", "w"))
    headers = {"Authorization": connection["authorization"]}
    return streamable_http_client(
        connection["url"], http_client=httpx2.AsyncClient(headers=headers)
    )


async def ask(client, method, arguments=None):
    """The names of the other client's methods, in the spelling of this one."""
    name = {"ping": "send_ping"}.get(method) or re.sub("([A-Z])", r"_\1", method).lower()
    try:
        answer = await getattr(client, name)(**(arguments or {}))
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    except MCPError as error:
        return {"code": error.error.code, "message": error.error.message}


async def main():
    async with Client(transport()) as client:
        server = client.server_info.model_dump(mode="json", exclude_none=True)
        first = {"server": server, "instructions": client.instructions}
        answers = [first] + [await ask(client, *request) for request in given["requests"]]
    print(json.dumps(answers))


asyncio.run(main())

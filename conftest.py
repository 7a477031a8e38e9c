"""Modules that need an extra: where it is missing, they are not searched for examples."""

from importlib.util import find_spec

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

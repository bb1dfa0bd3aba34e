"""What tests share: pages, sites, servers, crawls. pytest finds it by the ``pythonpath`` in pyproject.toml."""

"""Adapters for the programs that people already use; each needs its package, which is an extra."""

"""From a query to hits: parse, plan, candidates, rank, hits."""

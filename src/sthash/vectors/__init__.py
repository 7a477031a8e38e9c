"""Vectors, the foundation of every package that compares them.

`rows` has the one type for sparse and dense rows, `metric` what they are compared by, `conversion` the way from arrays
and tensors, `checks` what is refused, and `lengths` norms and unit length.
"""

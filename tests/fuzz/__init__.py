"""Fuzzers that know the formats: files with right checksums and wrong content, and arrays that do not fit together.

``make fuzz`` runs them with a C++ core that is built with the address and undefined-behavior sanitizers. Each case is
made from a seed and a number, and can be run again alone: ``make fuzz TARGET=T SEED=S CASE=N``. A case may end in an
answer or in an exception that the documentation names. A crash, a hang, another exception or much memory is a finding.
"""

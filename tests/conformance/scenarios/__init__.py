"""Scenarios: the same objects and changes given to our controllers and to upstream's; both must end in the same state.

A scenario is written in YAML, in the form of its room. What the real part made of it is recorded beside it, so that
ours is judged wherever the tests run; where the real engine is built, the record itself is checked.
"""

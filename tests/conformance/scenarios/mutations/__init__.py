"""Rules of ours, each made wrong in one way, and the recorded scenarios that must then end otherwise."""

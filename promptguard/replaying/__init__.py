"""The fixed task, replayed on an engine, turn by turn, and the gate on what was measured."""

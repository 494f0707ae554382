"""Why two prompts differ: one module for each part of a prompt."""

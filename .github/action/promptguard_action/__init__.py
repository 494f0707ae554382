"""What the GitHub Action does: a module for each step, and the standard library alone, since the first one installs the rest."""

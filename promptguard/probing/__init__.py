"""Build a prompt again and again in other surroundings, and say what of them it depends on."""

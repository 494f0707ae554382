"""Tiny-random models: the tokenizer, template and attention layout of a real model, with weights of a few megabytes."""

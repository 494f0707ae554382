"""The canonicalizer: the same tool schemas always come out as the same bytes. ``docs/canonical-form.md`` has the rules."""

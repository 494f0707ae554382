"""What a step cannot do."""


class ActionError(Exception):
    """One sentence for the user: what is wrong, where, and what to do."""

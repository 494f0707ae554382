"""``python -m promptguard``."""

from promptguard.cli.main import main

if __name__ == "__main__":
    main()

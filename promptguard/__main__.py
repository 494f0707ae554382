"""``python -m promptguard``."""

import sys

try:
    from promptguard.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)  # as main does from its first line on

if __name__ == "__main__":
    main()

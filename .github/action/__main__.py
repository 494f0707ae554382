"""``python -I .github/action COMMAND``: what the steps of action.yml run."""

import sys

from promptguard_action.main import main

sys.exit(main(sys.argv[1:]))

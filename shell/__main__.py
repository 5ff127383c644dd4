"""``python -m bergsql.shell``."""

import sys

from bergsql.shell.cli import main

sys.exit(main())

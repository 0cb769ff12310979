"""`python3 -m tidewheel_host`, as the user data of the launcher starts it."""

import sys

from tidewheel_host.host import main

if __name__ == "__main__":
    sys.exit(main())

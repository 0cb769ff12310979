"""Entry point: `python3 /opt/ml/input/data/agent` runs the agent in front of the user's script."""

import sys

# The channel this code came in may be shared or read-only.
sys.dont_write_bytecode = True

if __name__ == "__main__":
    if sys.argv[1:2] == ["--watchdog"]:
        from tidewheel_agent.watchdog import watch

        sys.exit(watch(sys.argv[2], int(sys.argv[3])))
    from tidewheel_agent.main import main

    sys.exit(main())

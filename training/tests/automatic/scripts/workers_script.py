"""The same with loader processes, each with generators of its own."""

import epochs_script

if __name__ == "__main__":
    epochs_script.WORKERS = 2
    epochs_script.main()

"""``python -m playground``: the same as the command ``playground``."""

from playground.cli import main

if __name__ == "__main__":  # a process that is spawned for the model imports this module too
    main()

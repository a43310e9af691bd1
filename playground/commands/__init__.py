"""The commands of ``playground``, one job a module; ``playground.cli`` gives them their names."""

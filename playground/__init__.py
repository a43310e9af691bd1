"""Decide what goes into a model call: a context compiler, its sources and its explanation."""

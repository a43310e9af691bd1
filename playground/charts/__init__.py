"""Charts: a view in, an Altair chart out.

Each module offers three functions. ``spec()`` is the Vega-Lite specification without data, built with Altair
when its structure changes and stored: pages send it with ``rows(view)``, which keeps a slider move fast.
``chart(view)`` is the same specification with its rows and colours inside, for notebooks and exports.
"""

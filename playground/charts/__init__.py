"""Charts: a view in, an Altair chart out.

Each module offers three functions. ``spec()`` is the Vega-Lite specification without data, built once and
cached: pages send it with ``rows(view)``, which is what keeps a slider move fast. ``chart(view)`` is the same
specification with its rows and colours inside, for notebooks and exports.
"""

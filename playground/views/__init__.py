"""Pure view models: results in, rows, labels and totals out.

A view holds every join, rounding, order and word that a chart, a pane, a page or a notebook shows. Views are
functions of their arguments: no clock, file, network, session or Streamlit.
"""

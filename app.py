"""Entry point of the app: ``streamlit run app.py``, or the command ``playground``."""

from playground.app.shell import main

main()

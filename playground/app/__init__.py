"""The Streamlit app: the only package that imports Streamlit. Pages compute nothing about the domain."""

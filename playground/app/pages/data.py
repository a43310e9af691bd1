"""Data: what a project holds, and how to add to it."""

import streamlit as st

from playground.app.data_adding import add_panel, report
from playground.app.data_map import map_panel
from playground.app.data_projects import projects_panel
from playground.app.data_tables import tables_panel, tiles
from playground.app.embedding_panel import embedding_panel
from playground.app.projects import load_project
from playground.app.style import add_rules

add_rules("data")
project = load_project(st.session_state["project"])

with st.container(key="data_row"):
    projects, add, embedding = st.columns(3, gap="small")
    with projects:
        projects_panel(project)
    with add:
        add_panel(project)
    with embedding:
        embedding_panel(project)
report()
tiles(project)
tables_panel(project)
map_panel(project)

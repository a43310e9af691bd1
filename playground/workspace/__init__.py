"""A project: everything one compile draws on, as plain files in one folder."""

from playground.workspace.compiling import ask_sources, compile_answers, compile_inputs, compile_project
from playground.workspace.labels import RecordLabel
from playground.workspace.loading import load_project
from playground.workspace.project import ChunkSettings, Project
from playground.workspace.samples import SampleSummary, load_sample, sample_projects, sample_summaries
from playground.workspace.saving import save_project
from playground.workspace.scenario import GoldRecord, Scenario
from playground.workspace.searching import SearchPlan, chunk_search, project_embedder, search_plan
from playground.workspace.sources import project_sources
from playground.workspace.vectors import VectorTable
from playground.workspace.working_memory import patch_project, start_working_memory

__all__ = [
    "ChunkSettings",
    "GoldRecord",
    "Project",
    "RecordLabel",
    "SampleSummary",
    "Scenario",
    "SearchPlan",
    "VectorTable",
    "ask_sources",
    "chunk_search",
    "compile_answers",
    "compile_inputs",
    "compile_project",
    "load_project",
    "load_sample",
    "patch_project",
    "project_embedder",
    "project_sources",
    "sample_projects",
    "sample_summaries",
    "save_project",
    "search_plan",
    "start_working_memory",
]

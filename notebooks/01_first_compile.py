# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A first compile
#
# A bank's support agent is asked about a stolen wallet. Four sources offer what they know: memories of the
# customer, passages of 698 help articles, messages of past chats, and the catalogue of skills. One token
# budget decides what the model gets to see. This notebook makes the same compile as the app's Compile page,
# with the same functions, views and charts. It needs no network.

# %%
import altair as alt
import pandas as pd

from playground.charts import sources as sources_chart
from playground.charts import waterfall as waterfall_chart
from playground.compiler.compile import compile_offers
from playground.compiler.explain import binding_constraint
from playground.compiler.offers import prepare
from playground.views.record_text import record_texts
from playground.views.sources import sources_view
from playground.views.waterfall import waterfall_view
from playground.workspace import ask_sources, compile_inputs, load_project

alt.renderers.enable("png", scale_factor=2)
pd.set_option("display.max_colwidth", 60)

# %%
project = load_project("bank-support")
print(project.title)
print(
    f"{len(project.documents)} articles in {len(project.chunks)} chunks, {len(project.memories)} memories, "
    f"{len(project.chats)} past chats, {len(project.skills)} skills"
)
print(project.question)

# %% [markdown]
# ## Ask the sources
#
# Each source answers with scored candidates. The question's vector came with the project, so that no
# embedding model has to be loaded.

# %%
results = ask_sources(project)
pd.DataFrame(
    [(r.source_id, r.status, len(r.candidates), max(c.score for c in r.candidates)) for r in results],
    columns=["source", "status", "candidates", "best score"],
)

# %% [markdown]
# ## Compile
#
# `prepare` orders and counts what was offered; it does not depend on the budget. `compile_offers` selects,
# renders and explains, and is all that has to run again when a knob is turned.

# %%
offers = prepare(compile_inputs(project, results))
package = compile_offers(offers, project.budget)
frame = package.manifest.to_frame()
texts = record_texts(results, project.working_memory, project.label)


def title(source: str, record_id: str) -> str:
    return texts[(source, record_id)].title


frame["title"] = [title(s, r) for s, r in zip(frame["source"], frame["record_id"], strict=True)]
frame[["source", "record_id", "title", "score", "tokens", "reason"]].head(12)

# %%
frame.pivot_table(index="source", columns="reason", values="tokens", aggfunc="count", fill_value=0)

# %% [markdown]
# ## The budget, from the window to the pool

# %%
waterfall_chart.chart(waterfall_view(package.manifest, context_window=project.model.context_window))

# %% [markdown]
# What each source asked for, was granted and used:

# %%
sources_chart.chart(sources_view(package.manifest, title=title))

# %% [markdown]
# ## What binds, and what would let the next record in

# %%
binding = binding_constraint(offers, package)
print(
    f"{binding.limit} binds: {binding.context_tokens:,} tokens; the ratio would allow {binding.ratio_tokens:,}"
)
print("next in line:", title(*binding.record))
pd.DataFrame([(c.knob, c.current, c.needed) for c in binding.changes], columns=["knob", "now", "needed"])

# %% [markdown]
# ## Turn a knob
#
# Half of the tokens: which records go, and which stay?

# %%
half = compile_offers(offers, {"max_tokens": project.budget.max_tokens // 2}).manifest.to_frame()
frame.merge(half, on=["source", "record_id"], suffixes=("", " at half")).groupby(
    ["kind", "selected", "selected at half"], sort=False
)["tokens"].agg(["count", "sum"])

# %% [markdown]
# ## What the model reads

# %%
print(package.blocks[0].text[:1200])

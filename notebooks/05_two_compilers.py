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
# # Two compilers, the same material
#
# The block compiler is the smaller of the two: it takes blocks that somebody ranked, puts in what is required
# or pinned, and then the rest by priority. The context compiler divides its budget among kinds of sources and
# renders records with tags. Here both choose from what one question found: the same budget, counted alike.

# %%
import altair as alt
import pandas as pd

from playground import TokenEstimator
from playground.blocks import (
    BlockBudgetError,
    ContextBlock,
    Origin,
    blocks_from_package,
    blocks_from_table,
    compile_blocks,
    compile_side_by_side,
    estimate_serialized_tokens,
    smallest_budget,
)
from playground.charts import blocks as blocks_chart
from playground.charts import sources as sources_chart
from playground.views.blocks import blocks_view
from playground.views.blocks_comparison import compared_blocks, comparison_sentence, comparison_table
from playground.views.record_text import record_texts
from playground.views.sources import sources_view
from playground.workspace import ask_sources, compile_answers, load_project

alt.renderers.enable("png", scale_factor=2)
pd.set_option("display.max_colwidth", 60)

# %% [markdown]
# ## Blocks by hand
#
# A block says what it is, how much it is wanted and whether it must be in. Nothing is cut: with 23 tokens the
# older message does not fit, and is told among the omitted ones.

# %%
blocks = [
    ContextBlock("rule", "constitution", "host", "system", "Never promise a refund.", 100, required=True),
    ContextBlock("older", "recent", "chat", "user", "My wallet was stolen on the train on Friday.", 10),
    ContextBlock("newer", "recent", "chat", "user", "The new card has arrived.", 20),
    ContextBlock("goal", "goal", "host", "user", "Explain the fee of a rushed card.", 90),
]
compile_blocks(blocks, budget_tokens=23)

# %%
compile_blocks(blocks, budget_tokens=23).to_frame()[["id", "kind", "priority", "estimated_tokens", "included"]]

# %% [markdown]
# What is pinned stays although it has the lowest priority. When the forced blocks alone are too large, nothing
# is dropped: the error has both numbers.

# %%
pinned = compile_blocks(blocks, budget_tokens=23, pinned_optional_ids=["older"])
print([block.id for block in pinned.included], pinned.estimated_tokens)
try:
    compile_blocks(blocks, budget_tokens=12, pinned_optional_ids=["older"])
except BlockBudgetError as error:
    print(error)

# %% [markdown]
# Rows of a data frame are blocks too, and data can be counted as it is sent, the schema of a tool for example.

# %%
table = pd.DataFrame(
    [
        {"id": "fees", "kind": "workspace", "content": "A rushed card costs 25 dollars.", "priority": 3},
        {"id": "hours", "kind": "workspace", "content": "Branches open at nine.", "priority": 1},
    ]
)
schema = {"name": "order_card", "parameters": {"type": "object", "properties": {"rush": {"type": "boolean"}}}}
print([block.id for block in compile_blocks(blocks_from_table(table), budget_tokens=10).included])
print(estimate_serialized_tokens(schema, framing_tokens=10), "tokens for the tool")

# %% [markdown]
# ## The material of a compile
#
# The bank's articles, a customer's memories and chats, skills and working memory, as one question finds them.
# Each record becomes a block with its text; its score is the priority, and what was mandatory there is required
# here.

# %%
project = load_project("bank-support")
results = ask_sources(project, mode="lexical")
memory = project.working_memory
package = compile_answers(project, results)
offered = blocks_from_package(package, results=results, working_memory=memory)
pd.DataFrame([{"kind": block.kind, "required": block.required} for block in offered]).value_counts().to_frame()

# %% [markdown]
# ## The same budget for both
#
# 3,000 tokens, counted by 3.6 characters a token. The context compiler pays for its tags out of them.

# %%
BUDGET = 3_000
both = compile_side_by_side(
    offered,
    budget_tokens=BUDGET,
    estimator=TokenEstimator(),
    origin=Origin(package, results, memory),
)
blocks_chart.chart(blocks_view(both.blocks, forced=both.forced))

# %%
texts = record_texts(results, memory, project.label)
titles = {block_id: texts[pair].title for pair, block_id in both.material.ids.items()}
sources_chart.chart(sources_view(both.context.manifest, title=lambda source, name: texts[source, name].title))

# %%
compared = compared_blocks(both, titles)
print("".join(text for text, _ in comparison_sentence(both, compared)))
comparison_table(compared, shown="Differ").frame.head(12)

# %% [markdown]
# The block compiler takes what scores highest, whatever it is: a few long passages push out what is known of
# the customer, for which the shares of the context compiler keep a place. Scores of different sources are only
# roughly comparable, which is what the shares are for.
#
# ## What a larger budget changes
#
# With more room one large block may get in and push two small ones out, in both. `smallest_budget` walks
# through every budget at which something changes.

# %%
rows = []
for tokens in range(1_000, 8_001, 500):
    side = compile_side_by_side(
        offered,
        budget_tokens=tokens,
        estimator=TokenEstimator(),
        origin=Origin(package, results, memory),
    )
    kept = compared_blocks(side, titles)
    rows += [
        {"budget": tokens, "kept by": "block compiler", "blocks": sum(one.included for one in kept)},
        {"budget": tokens, "kept by": "context compiler", "blocks": sum(one.selected for one in kept)},
        {"budget": tokens, "kept by": "both", "blocks": sum(one.included and one.selected for one in kept)},
    ]
frame = pd.DataFrame(rows)
alt.Chart(frame, width=480, height=220).mark_line(point=True).encode(
    x=alt.X("budget:Q", title="budget, tokens"),
    y=alt.Y("blocks:Q", title="blocks kept"),
    color=alt.Color("kept by:N", title=None, scale=alt.Scale(range=["#2331B5", "#9D6619", "#6B7280"])),
)

# %%
left_out = both.blocks.omitted[:5]
pd.DataFrame(
    {
        "block": [titles[block.id] for block in left_out],
        "tokens": [block.estimated_tokens for block in left_out],
        "from a budget of": [
            smallest_budget(block.id, both.counted, above=BUDGET, forced=both.forced).tokens
            for block in left_out
        ],
    }
)

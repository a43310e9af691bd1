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
# # A long task
#
# A compile is one step. An agent takes dozens: the task changes, memories are revised or forgotten, the
# history grows until it has to be shortened. This notebook plays a scripted job of 74 model steps on the
# compiler and on what came before it, with the real sources and a hashing embedder. No model is called, so
# that every run gives the same figures; they say what stands in the requests, and nothing about what a model
# would answer.

# %%
import altair as alt
import pandas as pd

from playground.charts import evaluation_grid, evaluation_steps
from playground.evaluation import evaluate
from playground.evaluation.task import load_task
from playground.views.evaluation import grid_view, steps_view

alt.renderers.enable("png", scale_factor=1.5)
pd.set_option("display.max_colwidth", 120)

# %% [markdown]
# ## The script
#
# Each part of the work needs a few of the records that the sources hold; the others share words with them. What
# is decided, ruled or tried in vain on the way must not get lost.

# %%
task = load_task()
pd.DataFrame(
    [
        (part.title, part.last - part.first + 1, ", ".join(task.steps[part.last].needs))
        for part in task.subtasks
    ],
    columns=["part of the work", "steps", "needs at its end"],
)

# %%
print(len(task.steps), "steps,", len(task.records), "records,", len(task.commitments), "things to keep in mind")
for step in task.steps:
    for name in (*step.revised, *step.forgotten):
        print(f"step {step.index}: {name} is {'forgotten' if step.forgotten else 'revised'}")
for item in task.commitments:
    if item.reverted is not None:
        print(f"step {item.since}: decided. {item.text} (taken back in step {item.reverted})")

# %% [markdown]
# ## Seven ways to play it
#
# All of them read the same sources with the same queries under the same budget.

# %%
report = evaluate()
report

# %%
for row in report.strategies:
    print(f"{row.label}: {row.description}")

# %% [markdown]
# ## What is kept in sight
#
# The compiler appends records when the task changes or the host asks, and what it placed stays until the
# history is shortened; then it comes back from what the compiler knew. With the default of six retrievals it
# runs dry in the third part of the work. Whoever retrieves for each request loses what an earlier question of
# the same part had found.

# %%
evaluation_grid.chart(grid_view(report, "records"))

# %% [markdown]
# Decisions that are only said in the history go with it.

# %%
evaluation_grid.chart(grid_view(report, "decisions"))

# %% [markdown]
# ## What a prompt cache can reuse
#
# The compiler's requests repeat the one before, except where the history was shortened or a memory was
# forgotten. A system message that is written anew throws the whole request away each time the records change.

# %%
evaluation_steps.chart(steps_view(report, "compiler"))

# %%
evaluation_steps.chart(steps_view(report, "system-message"))

# %% [markdown]
# It has a price: on a model that binds its thinking to the bytes before it, each step's copy of working memory
# stays in the history, which fills the window sooner. On other models it does not.

# %%
ordinary = evaluate(strategies=["compiler"], model_id="gpt-5")
pd.DataFrame({one.model_id: {name: cells[0] for name, cells in one.lines()} for one in (report, ordinary)})

# %% [markdown]
# ## Turn a knob
#
# How many needed records are in sight depends on how much may be added at once. Working memory comes first:
# where the budget is hardly larger than it, records do not get in, and a system message without working
# memory shows more of them.

# %%
three = ("compiler", "system-message", "system-message-with-state")
sweep = {tokens: evaluate(strategies=three, max_tokens=tokens) for tokens in (400, 800, 1_200, 1_600, 3_200)}
pd.DataFrame(
    {
        (name, report.figures(strategy).label): {
            f"{tokens:,} tokens": dict(one.lines())[name][at] for tokens, one in sweep.items()
        }
        for name in ("Needed records in sight", "Goal, rules, decisions in sight")
        for at, strategy in enumerate(three)
    }
)

# %% [markdown]
# The same table on the command line: `playground evaluate`, and with `--json` all figures of each step.

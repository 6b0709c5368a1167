"""
Which language models to ask, within a budget
=============================================

A pruner needs no models, only what they answered. Here many language models
answer the same multiple-choice questions, each at a price, and their answers
are put to the vote. Which of them to ask is a question of pruning with costs:
a model is worth its price if it is right where the others are wrong.

The answers are *simulated*, with made-up names, skills and prices, so that the
example runs without any service. With your own table of answers, everything
below the first block stays the same.
"""

# %%
# A table of answers
# ------------------
#
# Sixteen models of four families. Larger ones are better and cost more, and
# models of a family tend to fall for the same wrong answer.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n_questions, choices = 900, np.array(list("ABCD"))
truth = rng.choice(choices, n_questions)
difficulty = rng.normal(size=n_questions)
answers, price = {}, {}
for family in ("acacia", "birch", "cedar", "dogwood"):
    own_difficulty = difficulty + rng.normal(scale=0.8, size=n_questions)
    lure = rng.choice(choices, n_questions)  # the family's favourite mistake
    for billions in (2, 8, 30, 120):
        skill = 0.45 * np.log(billions) - 0.6 + rng.normal(scale=0.1)
        right = rng.random(n_questions) < 1 / (
            1 + np.exp(own_difficulty - skill)
        )
        other = np.where(
            rng.random(n_questions) < 0.6,
            lure,
            rng.choice(choices, n_questions),
        )
        answers[f"{family}-{billions}b"] = np.where(right, truth, other)
        price[f"{family}-{billions}b"] = (
            0.02 * billions**0.9
        )  # cents a question
table, price = pd.DataFrame(answers), pd.Series(price)
known, other = (
    slice(0, 400),
    slice(400, None),
)  # questions to choose on, and to test on
alone = table[other].eq(truth[other], axis=0).mean()
pd.DataFrame({"cents": price, "accuracy": alone}).round(3)

# %%
# Who to ask for a budget
# -----------------------
#
# ``cost`` has a price for each model, and ``max_cost`` is what a question may
# cost. Models are chosen by what they add to the vote for their price, by what
# they add alone, or in the order of the method, whichever does best on
# questions held out.
from secateurs import prune

pruning = prune(
    table[known],
    y=truth[known],
    pruner="re",
    cost=price,
    max_cost=1.0,
    random_state=0,
)
print("ask", ", ".join(pruning.member_names))
print(pruning.by_cost.remark)

# %%
# For a range of budgets, next to the best model that can be paid alone:
found = []
for budget in (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0):
    team = prune(
        table[known],
        y=truth[known],
        pruner="re",
        cost=price,
        max_cost=budget,
        random_state=0,
    )
    affordable = price[price <= budget].index
    single = table[known][affordable].eq(truth[known], axis=0).mean().idxmax()
    found.append(
        {
            "budget": budget,
            "models": len(team.member_names),
            "spent": price[team.member_names].sum(),
            "team": (team.pruner.predict(table[other]) == truth[other]).mean(),
            "best single": alone[single],
        }
    )
found = pd.DataFrame(found).set_index("budget")
found.round(3)

# %%
# The vote of all sixteen costs the sum of all prices. Budgets are on a
# logarithmic axis.
import matplotlib.pyplot as plt

everybody = prune(table[known], y=truth[known], pruner="es", keep=len(price))
all_right = (everybody.pruner.predict(table[other]) == truth[other]).mean()
_, ax = plt.subplots(layout="constrained")
ax.plot(price, alone, ".", color="0.6", markersize=9, label="models alone")
ax.plot(
    found.index,
    found["best single"],
    "s--",
    color="#d55e00",
    label="best single",
)
ax.plot(found.index, found["team"], "o-", color="#0072b2", label="team")
ax.plot(price.sum(), all_right, "D", color="0.2", label="all sixteen")
ax.set(
    xscale="log",
    xlabel="cents for a question",
    ylabel="accuracy on other questions",
)
ax.xaxis.set_major_formatter("{x:g}")
ax.set_title("Simulated answers: what a budget buys")
ax.legend(loc="lower right")
plt.show()

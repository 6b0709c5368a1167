"""
Selecting language models within a budget
=========================================

A pruner does not need the models, only their predictions. Here many language
models answer the same multiple-choice questions, each at a price, and their
answers are combined by a vote. Selecting the models is pruning with costs: a
model is worth its price if it is right where the others are wrong.

The answers are *simulated*, with fictitious names, skills and prices, so that
the example runs without any service. With your own table of answers,
everything after the first block stays the same.
"""

# %%
# A table of predictions
# ----------------------
#
# There are sixteen models of four families. Larger models are better and cost
# more, and models of the same family tend to give the same wrong answers.
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n_questions, choices = 900, np.array(list("ABCD"))
labels = rng.choice(choices, n_questions)
difficulty = rng.normal(size=n_questions)
answers, price = {}, {}
for family in ("acacia", "birch", "cedar", "dogwood"):
    own_difficulty = difficulty + rng.normal(scale=0.8, size=n_questions)
    lure = rng.choice(choices, n_questions)  # the family's typical mistake
    for billions in (2, 8, 30, 120):
        skill = 0.45 * np.log(billions) - 0.6 + rng.normal(scale=0.1)
        is_correct = rng.random(n_questions) < 1 / (
            1 + np.exp(own_difficulty - skill)
        )
        fallback = np.where(
            rng.random(n_questions) < 0.6,
            lure,
            rng.choice(choices, n_questions),
        )
        answers[f"{family}-{billions}b"] = np.where(
            is_correct, labels, fallback
        )
        # In cents per question.
        price[f"{family}-{billions}b"] = 0.02 * billions**0.9
predictions, price = pd.DataFrame(answers), pd.Series(price)
# The first 400 questions are the validation set, the others the test set.
validation, test = slice(0, 400), slice(400, None)
single_accuracy = predictions[test].eq(labels[test], axis=0).mean()
pd.DataFrame({"cents": price, "accuracy": single_accuracy}).round(3)

# %%
# Selecting models for a budget
# -----------------------------
#
# ``cost`` is the price of each model, and ``max_cost`` is the budget per
# question. Three rules are compared by cross-validation: selecting models by
# their contribution to the vote relative to their price, by their contribution
# alone, or in the order of the method.
from secateurs import prune

pruning = prune(
    predictions[validation],
    y=labels[validation],
    pruner="re",
    cost=price,
    max_cost=1.0,
    random_state=0,
)
print("selected:", ", ".join(pruning.member_names))
print(pruning.by_cost.remark)

# %%
# The same for a range of budgets, compared with the best single model within
# each budget:
results = []
for budget in (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0):
    pruned = prune(
        predictions[validation],
        y=labels[validation],
        pruner="re",
        cost=price,
        max_cost=budget,
        random_state=0,
    )
    affordable = price[price <= budget].index
    single = (
        predictions[validation][affordable]
        .eq(labels[validation], axis=0)
        .mean()
        .idxmax()
    )
    results.append(
        {
            "budget": budget,
            "models": len(pruned.member_names),
            "spent": price[pruned.member_names].sum(),
            "pruned ensemble": (
                pruned.pruner.predict(predictions[test]) == labels[test]
            ).mean(),
            "best single model": single_accuracy[single],
        }
    )
results = pd.DataFrame(results).set_index("budget")
results.round(3)

# %%
# The vote of all sixteen models costs the sum of all prices. The axis of
# budgets is logarithmic.
import matplotlib.pyplot as plt

full = prune(
    predictions[validation], y=labels[validation], pruner="es", keep=len(price)
)
full_accuracy = (full.pruner.predict(predictions[test]) == labels[test]).mean()
_, ax = plt.subplots(layout="constrained")
ax.plot(
    price,
    single_accuracy,
    ".",
    color="0.6",
    markersize=9,
    label="single models",
)
ax.plot(
    results.index,
    results["best single model"],
    "s--",
    color="#d55e00",
    label="best single model",
)
ax.plot(
    results.index,
    results["pruned ensemble"],
    "o-",
    color="#0072b2",
    label="pruned ensemble",
)
ax.plot(price.sum(), full_accuracy, "D", color="0.2", label="full ensemble")
ax.set(
    xscale="log",
    xlabel="cents per question",
    ylabel="accuracy on test questions",
)
ax.xaxis.set_major_formatter("{x:g}")
ax.set_title("Simulated answers: accuracy by budget")
ax.legend(loc="lower right")
plt.show()

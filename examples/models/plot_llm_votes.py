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
# question. With sixteen models, all panels are scored, and the best one on the
# validation set is kept.
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
# All budgets at once
# -------------------
#
# ``frontier`` finds the best panel within every total price. Here the scores
# are those of the test questions; without a test set they are cross-validated.
from secateurs import frontier

found = frontier(
    predictions[validation],
    y=labels[validation],
    cost=price,
    X_test=predictions[test],
    y_test=labels[test],
    random_state=0,
)
columns = ["cost", "members", "accuracy", "validation_score", "cost_in_turn"]
found.table()[columns].iloc[::4].round(3)

# %%
# A panel need not be asked in full: models are asked in turn until the
# remaining ones cannot change the answer. The answers are the same.
panel = pruning.sequential()
print("asked in this order:", ", ".join(panel.names))
print(f"{panel.expected_cost:.2f} instead of {panel.cost.sum():.2f} cents")

# %%
# The accuracy on the validation questions is too good, since the best of
# 65,535 panels is partly the best by chance.
import matplotlib.pyplot as plt

from secateurs.displays import CostFrontierDisplay

_, ax = plt.subplots(layout="constrained")
ax.plot(price, single_accuracy, ".", color="0.6", label="single models")
CostFrontierDisplay.from_result(found, ax=ax)
ax.set(xlabel="cents per question", title="Simulated answers")
plt.show()

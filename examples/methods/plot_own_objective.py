"""
Writing your own objective
==========================

Methods that add one member at a time share the same loop and differ in the
objective: how good a set would be with one more member. This example writes an
objective in which errors have different costs, for example in medicine, where
a missed illness costs more than examining a healthy patient twice.
"""

# %%
# The interface of an objective
# -----------------------------
#
# An objective keeps track of the selected members. ``gains`` returns the value
# of the objective with each member added, where larger is better; ``add`` adds
# a member; and ``value`` is the value for the selected members. Here the value
# is the negative cost of the errors of their vote.
import numpy as np

from secateurs.pruners import BasePruner
from secateurs.search import greedy_forward


class VoteCost:
    """The negative cost of the vote's errors; ties go to the lowest class."""

    def __init__(self, codes, truth, costs):
        self.n_members, self.value = len(codes), 0
        # One-hot votes, members × samples × classes.
        self._votes = np.eye(len(costs), dtype=int)[codes]
        self._tally = np.zeros_like(self._votes[0])
        # Cost of predicting each class, samples × classes.
        self._sample_costs = costs[truth]

    def gains(self):
        """Return the value with each member added."""
        return np.array(
            [self._value(self._tally + votes) for votes in self._votes]
        )

    def add(self, member):
        """Add a member."""
        self._tally = self._tally + self._votes[member]
        self.value = self._value(self._tally)

    def _value(self, tally):
        return -self._sample_costs[
            np.arange(len(tally)), tally.argmax(axis=1)
        ].sum()


# %%
# A pruner for the objective
# --------------------------
#
# A pruner stores its parameters and selects members. The base class provides
# input validation, ``keep`` as a count or a fraction, ``predict`` and
# ``clone``. ``secateurs.register("cost", CostPruner)`` would register a short
# name for it, which can be used wherever a method is given by name.
class CostPruner(BasePruner):
    """Select the members for which the errors of the vote cost least."""

    is_nested = True  # smaller selections are prefixes of larger ones

    def __init__(self, keep=0.1, costs=((0, 1), (1, 0))):
        self.keep = keep
        self.costs = costs

    def _select(self, votes, n_keep, rng):
        codes = votes.codes(range(votes.n_members))
        return greedy_forward(
            VoteCost(codes, votes.truth, np.asarray(self.costs)), n_keep
        )


# %%
# Results
# -------
#
# Class 1 is the illness: missing it costs five, a false alarm costs one. The
# data are synthetic and noisy, so that no selection is always right.
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import ReducedErrorPruner, collect_votes

costs = np.array([[0, 1], [5, 0]])  # costs[true class, predicted class]
results = []
for seed in range(6):
    X, y = make_classification(
        1500, n_informative=6, class_sep=0.7, flip_y=0.1, random_state=seed
    )
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, test_size=0.6, random_state=seed
    )
    X_val, X_test, y_val, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=seed
    )
    forest = RandomForestClassifier(50, max_depth=4, random_state=seed).fit(
        X_train, y_train
    )
    votes = collect_votes(forest, X_val)
    test_votes = collect_votes(forest, X_test)
    for name, pruner in {
        "fewest errors": ReducedErrorPruner(keep=7),
        "lowest cost": CostPruner(keep=7, costs=costs),
    }.items():
        predicted = pruner.fit(votes, y_val).predict(test_votes)
        results.append(
            {
                "objective": name,
                "missed": np.sum((y_test == 1) & (predicted == 0)),
                "false alarms": np.sum((y_test == 0) & (predicted == 1)),
                "cost": costs[y_test, predicted].sum(),
            }
        )

# %%
# Totals on the test sets of six problems:
import pandas as pd

results = pd.DataFrame(results)
results.groupby("objective").sum()

# %%
# The objective uses the costs on the validation set only, so the improvement
# may not carry over to the test set. It did for problems below the diagonal.
import matplotlib.pyplot as plt

by_problem = {
    name: group["cost"].to_numpy()
    for name, group in results.groupby("objective")
}
limit = results["cost"].max() * 1.1
_, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
ax.plot([0, limit], [0, limit], color="0.6", linewidth=1)
ax.plot(
    by_problem["fewest errors"],
    by_problem["lowest cost"],
    "o",
    color="#0072b2",
)
ax.set(
    xlabel="cost with the objective of fewest errors",
    ylabel="cost with the objective of lowest cost",
)
ax.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
ax.set_title("Cost on the test set; one point per problem")
plt.show()

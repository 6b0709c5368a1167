"""
An objective of your own
========================

Methods that add one member at a time share their loop; what differs is the
objective: how good a set would be with one more member. This example writes
one in which errors have different prices, as where an illness that is
overlooked costs more than a healthy patient examined twice.
"""

# %%
# What an objective is
# --------------------
#
# It knows the members chosen so far. ``gains`` returns the score of every
# member as the next one, larger being better, ``add`` adds it, and ``value``
# is that of the members chosen. Here it is minus the price of the errors that
# their vote makes.
import numpy as np

from secateurs.pruners import BasePruner
from secateurs.search import greedy_forward


class VotePrice:
    """Minus what errors of the vote cost; ties go to the lowest class."""

    def __init__(self, codes, truth, prices):
        self.n_members, self.value = len(codes), 0
        self._right = np.eye(len(prices), dtype=int)[
            codes
        ]  # members × samples × classes
        self._tally = np.zeros_like(self._right[0])
        self._price_of = prices[
            truth
        ]  # what each answer costs, samples × classes

    def gains(self):
        """Return the value with each member as the next one."""
        return np.array(
            [self._value(self._tally + one) for one in self._right]
        )

    def add(self, member):
        """Add a member."""
        self._tally = self._tally + self._right[member]
        self.value = self._value(self._tally)

    def _value(self, tally):
        return -self._price_of[
            np.arange(len(tally)), tally.argmax(axis=1)
        ].sum()


# %%
# A pruner around it
# ------------------
#
# A pruner stores its parameters and chooses; checks, ``keep`` as a count or a
# fraction, ``predict`` and ``clone`` come from its base class.
# ``secateurs.register("price", PricePruner)`` would give it a short name, for
# all places where methods are named.
class PricePruner(BasePruner):
    """Keep the members with which errors of the vote are cheapest."""

    is_nested = True  # fewer members are the first of more

    def __init__(self, keep=0.1, prices=((0, 1), (1, 0))):
        self.keep = keep
        self.prices = prices

    def _select(self, votes, n_keep, rng):
        codes = votes.codes(range(votes.n_members))
        return greedy_forward(
            VotePrice(codes, votes.truth, np.asarray(self.prices)), n_keep
        )


# %%
# Five times as bad to overlook
# -----------------------------
#
# Class 1 is the illness: to overlook it costs five, a false alarm one. The
# data are made, and noisy, so that no choice is right everywhere.
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from secateurs import ReducedErrorPruner, collect_votes

prices = np.array([[0, 1], [5, 0]])  # rows: the truth; columns: the answer
found = []
for seed in range(6):
    X, y = make_classification(
        1500, n_informative=6, class_sep=0.7, flip_y=0.1, random_state=seed
    )
    X_fit, X_rest, y_fit, y_rest = train_test_split(
        X, y, test_size=0.6, random_state=seed
    )
    X_choose, X_test, y_choose, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=seed
    )
    forest = RandomForestClassifier(50, max_depth=4, random_state=seed).fit(
        X_fit, y_fit
    )
    votes, test_votes = (
        collect_votes(forest, X_choose),
        collect_votes(forest, X_test),
    )
    for name, pruner in {
        "fewest errors": ReducedErrorPruner(keep=7),
        "cheapest errors": PricePruner(keep=7, prices=prices),
    }.items():
        answer = pruner.fit(votes, y_choose).predict(test_votes)
        found.append(
            {
                "objective": name,
                "overlooked": np.sum((y_test == 1) & (answer == 0)),
                "false alarms": np.sum((y_test == 0) & (answer == 1)),
                "price": prices[y_test, answer].sum(),
            }
        )

# %%
# On test rows, over six problems:
import pandas as pd

found = pd.DataFrame(found)
found.groupby("objective").sum()

# %%
# The objective sees the prices only on the rows it chooses on. Whether that
# pays on others is for each problem to show: below the diagonal it did.
import matplotlib.pyplot as plt

by_problem = {
    name: lines["price"].to_numpy()
    for name, lines in found.groupby("objective")
}
most = found["price"].max() * 1.1
_, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
ax.plot([0, most], [0, most], color="0.6", linewidth=1)
ax.plot(
    by_problem["fewest errors"],
    by_problem["cheapest errors"],
    "o",
    color="#0072b2",
)
ax.set(
    xlabel="price with the fewest errors",
    ylabel="price with the cheapest errors",
)
ax.set(xlim=(0, most), ylim=(0, most), aspect="equal")
ax.set_title("Price on test rows; a point is a problem")
plt.show()

"""Predictions of any framework: a table of labels, or of probabilities, is enough."""

import numpy as np
import pandas as pd

from secateurs import COMEP, measures, prune

rng = np.random.default_rng(0)
truth = rng.choice(["cat", "dog", "fox"], size=500)
names = [f"net {index}" for index in range(12)]
table = pd.DataFrame(
    {
        name: np.where(rng.random(500) < 0.6, truth, rng.choice(["cat", "dog"], 500))
        for name in names
    }
)

pruning = prune(table[:250], y=truth[:250], keep=4)
print("kept:", pruning.member_names)
print(pruning.summary(table[250:], truth[250:]).round(4))

# The same through the pruner itself, as a scikit-learn selector.
pruner = COMEP(keep=4).fit(table[:250], truth[:250])
print("columns kept:", list(pruner.get_feature_names_out()))
print(f"at least {pruner.objective_ / pruner.upper_bound_:.1%} of the best value possible")
print(f"mean disagreement of all pairs: {measures.disagreement.mean(table):.3f}")

probabilities = rng.dirichlet(np.ones(3), size=(500, 12))  # samples × members × classes
best = prune(probabilities, y=rng.integers(3, size=500), pruner="re", keep=3)
print("of probabilities:", best.member_indices.tolist())

"""
Prune on a Dask cluster
=======================

Where votes do not fit one machine, or one machine is not enough, the work goes
to an executor: a pool of processes, or a Dask client. Where it runs never
changes the result. This example uses the smallest cluster there is, two
workers inside this process; with ``Client("tcp://…")`` the rest stays as it
is. It needs the extra ``dask``: ``pip install "secateurs[dask]"``.
"""

# %%
# Votes on disk
# -------------
#
# A store is a folder of tiles with checksums. Workers get its path and read
# what they need; with machines of their own, the folder must be one that all
# of them see.
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from distributed import Client, LocalCluster
from secateurs import collect_votes

X, y = load_digits(return_X_y=True)
X_fit, X_rest, y_fit, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(240, random_state=0).fit(X_fit, y_fit)
folder = tempfile.TemporaryDirectory()
store = collect_votes(
    forest, X_choose, store=Path(folder.name) / "votes", y=y_choose
)
cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
)
client = Client(cluster)

# %%
# The paper's framework
# ---------------------
#
# EPFD deals the members into random groups, prunes each group on some worker,
# prunes the union of what they kept, and takes the best of all these results.
# It works around any pruner. All that is random is drawn before anything is
# sent out.
from secateurs import COMEP, EPFD, ReducedErrorPruner

epfd = EPFD(ReducedErrorPruner(keep=12), n_groups=4, random_state=0)
spread = epfd.fit(store, executor=client).member_indices_
here = epfd.fit(store).member_indices_
print("the same members as in this process:", bool((spread == here).all()))

# %%
# Exact, and spread all the same
# ------------------------------
#
# Of COMEP the work itself can be spread, without groups: counts of pairs are
# integers, which add up to the same on any number of machines.
comep = COMEP(keep=12)
exact = comep.fit(store, executor=client).member_indices_
print(
    "COMEP on the cluster, the same:",
    bool((exact == comep.fit(store).member_indices_).all()),
)
client.close()
cluster.close()

# %%
# What the groups found
# ---------------------
#
# The result of the second round is taken unless that of a group is better. How
# far groups are from the same method without any is shown beside it.
alone = ReducedErrorPruner(keep=12).fit(store)
test_store = collect_votes(
    forest, X_test, store=Path(folder.name) / "test", y=y_test
)
print(
    f"accuracy on test rows: EPFD {epfd.score(test_store, y_test):.4f}",
    end=", ",
)
print(f"without groups {alone.score(test_store, y_test):.4f}")
folder.cleanup()

# %%
import matplotlib.pyplot as plt
import numpy as np

names = [f"group {number}" for number in range(1, 5)] + ["union of all"]
colours = np.where(np.arange(5) == epfd.winner_, "#0072b2", "0.75")
_, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.barh(names[::-1], epfd.candidate_scores_[::-1], color=colours[::-1])
ax.axvline(
    1 - alone.objective_,
    color="#d55e00",
    linestyle="--",
    label="without groups",
)
ax.set(xlabel="accuracy of the vote on the rows chosen on", xlim=(0.9, 1))
ax.set_title("Candidates of the two rounds; the one taken in blue")
ax.legend(loc="upper left")
plt.show()

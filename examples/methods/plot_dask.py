"""
Pruning on a Dask cluster
=========================

If the votes do not fit on one machine, or one machine is too slow, an executor
can run the work: a pool of processes, or a Dask client. The executor never
changes the result. This example uses the smallest possible cluster, two
workers inside this process; with ``Client("tcp://…")`` the rest of the code
stays the same. It needs the extra ``dask``: ``pip install "secateurs[dask]"``.
"""

# %%
# Votes on disk
# -------------
#
# A store is a folder of tiles with checksums. Workers get the path of the
# folder and read the tiles that they need. If workers run on several machines,
# all of them must have access to the folder.
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from distributed import Client, LocalCluster
from secateurs import collect_votes

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.6, random_state=0
)
X_val, X_test, y_val, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)
forest = RandomForestClassifier(240, random_state=0).fit(X_train, y_train)
folder = tempfile.TemporaryDirectory()
store = collect_votes(
    forest, X_val, store=Path(folder.name) / "votes", y=y_val
)
cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
)
client = Client(cluster)

# %%
# The paper's framework
# ---------------------
#
# EPFD divides the members into random groups, prunes each group on a worker,
# prunes the union of the groups' results, and keeps the best of all these
# results. It works with any pruner. All random numbers are drawn before any
# work is distributed.
from secateurs import COMEP, EPFD, ReducedErrorPruner

epfd = EPFD(ReducedErrorPruner(keep=12), n_groups=4, random_state=0)
distributed_members = epfd.fit(store, executor=client).member_indices_
local_members = epfd.fit(store).member_indices_
same = bool((distributed_members == local_members).all())
print("EPFD on the cluster, same members as locally:", same)

# %%
# Exact distributed pruning
# -------------------------
#
# COMEP itself can also be distributed, without groups. Its counts of pairs are
# integers, whose sums are the same on any number of machines.
comep = COMEP(keep=12)
exact = comep.fit(store, executor=client).member_indices_
print(
    "COMEP on the cluster, same members as locally:",
    bool((exact == comep.fit(store).member_indices_).all()),
)
client.close()
cluster.close()

# %%
# Results of the groups
# ---------------------
#
# The result of the second round is used unless the result of a group is
# better. The same method without groups is shown for comparison.
without_groups = ReducedErrorPruner(keep=12).fit(store)
test_store = collect_votes(
    forest, X_test, store=Path(folder.name) / "test", y=y_test
)
print(
    f"accuracy on the test set: EPFD {epfd.score(test_store, y_test):.4f}",
    end=", ",
)
print(f"without groups {without_groups.score(test_store, y_test):.4f}")
folder.cleanup()

# %%
import matplotlib.pyplot as plt
import numpy as np

names = [f"group {number}" for number in range(1, 5)] + ["union"]
colours = np.where(np.arange(5) == epfd.winner_, "#0072b2", "0.75")
_, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.barh(names[::-1], epfd.candidate_scores_[::-1], color=colours[::-1])
ax.axvline(
    1 - without_groups.objective_,
    color="#d55e00",
    linestyle="--",
    label="without groups",
)
ax.set(xlabel="accuracy of the vote on the validation set", xlim=(0.9, 1))
ax.set_title("Results of the two rounds; the selected result in blue")
ax.legend(loc="upper left")
plt.show()

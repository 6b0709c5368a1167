"""Ten threads prune at once: each finds what it finds alone."""

from concurrent.futures import ThreadPoolExecutor

import paths  # noqa: F401
from fits import draw, quick_limits
from model_files import MODELS, REGRESSORS, TRUE_NUMBERS, X, Y, _fitted

from secateurs import COMEP, all_pruners, make_pruner, prune, register, unregister

N_THREADS = 10


def threads(rng, folder, tally, n_rounds=3):
    """Fits of all kinds, and whole ensembles."""
    quick_limits()
    for _ in range(n_rounds):
        jobs = [_fit(rng, folder) for _ in range(30)] + [_prune(rng) for _ in range(20)]
        jobs += [_register(rng) for _ in range(10)]
        rng.shuffle(jobs)
        expected = [job() for _, job in jobs]
        with ThreadPoolExecutor(N_THREADS) as pool:
            running = [pool.submit(job) for _, job in jobs]
            for (told, _), future, alone in zip(jobs, running, expected):
                tally.attempt(f"ten threads: {told}", future.result, alone)


def _fit(rng, folder):
    fit = draw(rng, folder, stored=False)
    if hasattr(fit.pruner, "shard"):
        fit.pruner.set_params(shard="auto")
    return str(fit), fit.run


class _Own(COMEP):
    """A method of one's own."""


def _register(rng):
    name, keep = f"own-{rng.getrandbits(40)}", rng.randrange(1, 4)

    def run():
        register(name, _Own)
        names = [key for key in all_pruners() if key == name]
        found = prune(_fitted("forest"), X[::-1], Y[::-1], name, keep=keep).member_indices.tolist()
        made = make_pruner(name, keep=keep)
        unregister(name)
        return len(names), found, made.keep

    return f"registers {keep}", run


def _prune(rng):
    refused = ("gradient boosted", "regression boosted", "list")
    name = rng.choice([name for name in MODELS if name not in refused])
    y = TRUE_NUMBERS if name in REGRESSORS else Y
    methods = ["joint", "best"] if name in REGRESSORS else ["comep", "re", "oo", "domep", "joint"]
    method, keep, seed = rng.choice(methods), rng.randrange(1, 3), 7

    def run():
        random = {"random_state": seed} if method == "domep" else {}
        pruning = prune(_fitted(name), X[::-1] + 0.01, y[::-1], method, keep=keep, **random)
        return pruning.member_indices.tolist(), pruning.estimator.predict(X).tolist()

    return f"{name} by {method}", run

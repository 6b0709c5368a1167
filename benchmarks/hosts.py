"""Run the paper's experiment on one, two and three hosts that are simulated on this machine.

A host is a network namespace with its own address on a virtual switch and a share of one core.
Each cluster has one Dask worker per host. The script needs root for the namespaces, and removes
everything that it created.
"""

import argparse
import itertools
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

PREFIX = "secateurs"
SWITCH = f"{PREFIX}-switch"
NETWORK = "198.18.0"  # reserved for benchmarks (RFC 2544)
PERIOD_US = 20_000  # of the CPU quota: short, so that a host runs evenly
CGROUP_V1 = Path("/sys/fs/cgroup/cpu")
CGROUP_V2 = Path("/sys/fs/cgroup")
BASELINES = ("kl", "kp", "oo", "re", "drep", "sep", "oep", "pep")


class Size(NamedTuple):
    """The size of an experiment."""

    n_members: int
    n_samples: int
    n_classes: int
    n_keep: int

    def __str__(self) -> str:
        members, samples, classes, keep = self
        return f"n={members}, d={samples}, {classes} classes, k={keep}"


GREEDY, OTHERS = Size(2000, 50_000, 10, 20), Size(60, 1000, 2, 12)
QUICK_GREEDY, QUICK_OTHERS = Size(200, 5000, 10, 5), Size(20, 200, 2, 5)


@contextmanager
def hosts(n_hosts: int, share: float, rate: str) -> Iterator[list[str]]:
    """Create hosts with a share of a core each, connected by a switch; yield their names."""
    names = [f"{PREFIX}-{number}" for number in range(1, n_hosts + 1)]
    with ExitStack() as stack:
        stack.callback(_ip, "netns", "del", SWITCH, check=False)
        _ip("netns", "add", SWITCH)
        _ip("-n", SWITCH, "link", "add", "br0", "type", "bridge")
        _ip("-n", SWITCH, "link", "set", "br0", "up")
        for number, name in enumerate(names, 1):
            stack.callback(_remove_host, name)
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
            ends = ("type", "veth", "peer", "name", f"p{number}", "netns", SWITCH)
            _ip("link", "add", "veth0", "netns", name, *ends)
            _ip("-n", SWITCH, "link", "set", f"p{number}", "master", "br0", "up")
            _ip("-n", name, "addr", "add", f"{address(number)}/24", "dev", "veth0")
            _ip("-n", name, "link", "set", "veth0", "up")
            shape = ("root", "tbf", "rate", rate, "burst", "512kb", "latency", "50ms")
            _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "veth0", *shape)
            _limit(name, share)
        yield names


def address(number: int) -> str:
    """Return the address of a host."""
    return f"{NETWORK}.{10 + number}"


@contextmanager
def clusters(names: Sequence[str], sizes: Sequence[int]) -> Iterator[dict[int, str]]:
    """Start a cluster of each size: a scheduler on the first host, one worker per host."""
    found: dict[int, str] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for size in sizes:
            port = 18786 + size  # not the default ports of Dask
            found[size] = f"tcp://{address(1)}:{port}"
            command = ["scheduler", "--host", address(1), "--port", str(port), "--no-dashboard"]
            stack.enter_context(_started(names[0], None, command, folder))
            for number, name in enumerate(names[:size], 1):
                where = ["--host", address(number), "--name", f"host-{number}"]
                command = ["worker", found[size], *where, "--nthreads", "1", "--no-dashboard"]
                stack.enter_context(_started(name, name, command, folder))
        yield found


@contextmanager
def _started(host: str, quota: str | None, command: Sequence[str], folder: Path) -> Iterator[None]:
    """Run a Dask process on a host, within its share of a core."""
    join = f"echo $$ > {_group(quota)}/cgroup.procs; " if quota else ""
    call = " ".join(["exec ip netns exec", host, sys.executable, "-m", "dask", *command])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DASK_TEMPORARY_DIRECTORY": str(folder)}
    process = subprocess.Popen(
        ["/bin/sh", "-c", join + call],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=folder,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _group(name: str) -> Path:
    root = CGROUP_V1 if (CGROUP_V1 / "cpu.cfs_quota_us").exists() else CGROUP_V2
    return root / name


def _limit(name: str, share: float) -> None:
    group = _group(name)
    group.mkdir(exist_ok=True)
    quota = str(int(share * PERIOD_US))
    if group.parent == CGROUP_V1:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(quota)
    else:
        (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")


def _remove_host(name: str) -> None:
    found = subprocess.run(
        ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
    )
    for pid in found.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    _ip("netns", "del", name, check=False)
    for _ in range(50):  # a group can be removed only after its last process has ended
        if not _group(name).exists():
            return
        try:
            _group(name).rmdir()
        except OSError:
            time.sleep(0.1)


def _ip(*arguments: str, check: bool = True) -> None:
    _run("ip", *arguments, check=check)


def _run(*command: str, check: bool = True) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")


# The following functions run on the hosts.


def experiment(schedulers: dict[int, str], quick: bool, repeats: int) -> None:
    """Measure every method on every cluster, alternately, and print the tables."""
    from benchmarks.distributed import made_votes
    from distributed import Client
    from secateurs import VoteStore

    warnings.simplefilter("ignore")
    greedy, others = (QUICK_GREEDY, QUICK_OTHERS) if quick else (GREEDY, OTHERS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        clients = {m: stack.enter_context(Client(at, timeout=60)) for m, at in schedulers.items()}
        for size, client in clients.items():
            client.wait_for_workers(size, timeout=60)
        for size, calls in ((greedy, greedy_calls), (others, baseline_calls)):
            votes = made_votes(*size[:3])
            store = VoteStore.from_votes(folder / str(size.n_members), votes)
            times = interleaved(calls(store, size, clients), repeats)
            models = model(size, list(clients)) if calls is greedy_calls else {}
            print(f"\n### {size}\n\n{table(times, models, list(clients))}", flush=True)


Calls = dict[tuple[str, int], Callable[[], Any]]


def greedy_calls(store: Any, size: Size, clients: dict[int, Any]) -> Calls:
    """Return calls of COMEP, DOMEP and exact COMEP, with a start that costs nothing."""
    from secateurs import COMEP, DOMEP, EPFD

    calls: Calls = {}
    for m, client in clients.items():
        comep = EPFD(COMEP(size.n_keep, start="relevance"), n_groups=1)
        calls["COMEP on one host", m] = lambda p=comep: p.fit(store, executor=clients[1])
        domep = DOMEP(size.n_keep, n_groups=m, start="relevance", random_state=0)
        calls["DOMEP, one group per host", m] = lambda p=domep, c=client: p.fit(store, executor=c)
        for shard in ("members", "rows"):
            exact = COMEP(size.n_keep, start="relevance", shard=shard)
            calls[f"COMEP, {shard} shared", m] = lambda p=exact, c=client: p.fit(store, executor=c)
    return calls


def baseline_calls(store: Any, size: Size, clients: dict[int, Any]) -> Calls:
    """Return calls of EPFD with one group per host for each baseline; one group is the baseline."""
    from secateurs import EPFD, make_pruner

    calls: Calls = {}
    for name, (m, client) in itertools.product(BASELINES, clients.items()):
        epfd = EPFD(make_pruner(name, keep=size.n_keep), n_groups=m, random_state=0)
        calls[f"EPFD({name})", m] = lambda p=epfd, c=client: p.fit(store, executor=c)
    return calls


def interleaved(calls: Calls, repeats: int) -> dict[tuple[str, int], float]:
    """Return median times of calls that alternate, after one round that does not count."""
    times: dict[tuple[str, int], list[float]] = {key: [] for key in calls}
    for turn in range(repeats + 1):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            if turn:
                times[key].append(time.perf_counter() - start)
    return {key: statistics.median(values) for key, values in times.items()}


def model(size: Size, hosts_counts: Sequence[int]) -> dict[tuple[str, int], float]:
    """Return the expected speed-up by the number of pairs of members that are compared."""
    n, k = size.n_members, size.n_keep
    models = {}
    for m in hosts_counts:
        rounds = n * k if m == 1 else -(-n // m) * k + m * k * k
        models["DOMEP, one group per host", m] = n * k / rounds
        for shard in ("members", "rows"):
            models[f"COMEP, {shard} shared", m] = float(m)
    return models


def table(
    times: dict[tuple[str, int], float],
    models: dict[tuple[str, int], float],
    hosts_counts: Sequence[int],
) -> str:
    """Return a table of speed-up over one host, and efficiency: speed-up per host."""
    headings = ["method", "one host"]
    for m in hosts_counts[1:]:
        headings += [f"{m} hosts: speed-up", "model", "efficiency"]
    lines = [headings, ["---"] * len(headings)]
    for name in dict.fromkeys(name for name, _ in times):
        if name == "COMEP on one host":
            continue
        base = times.get(("COMEP on one host", 1), times[name, 1])
        cells = [name, f"{times[name, 1]:.2f} s"]
        for m in hosts_counts[1:]:
            speed = base / times[name, m]
            expected = f"{models[name, m]:.2f}" if (name, m) in models else "–"
            cells += [f"{speed:.2f}", expected, f"{speed / m:.2f}"]
        lines.append(cells)
    rows = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    base = times.get(("COMEP on one host", 1))
    note = "" if base is None else f"\n\nCOMEP itself, on one host: {base:.2f} s."
    return rows + note


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts", description=__doc__)
    parser.add_argument("--hosts", type=int, default=3, help="largest number of hosts (default 3)")
    parser.add_argument(
        "--share", type=float, default=0.4, help="share of a core per host (default 0.4)"
    )
    parser.add_argument("--rate", default="1gbit", help="network rate of each host (default 1gbit)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to check that everything works"
    )
    parser.add_argument("--schedulers", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.schedulers:
        found = dict(enumerate(options.schedulers, 1))
        experiment(found, options.quick, options.repeats)
        return
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("ip"):
        parser.error(
            "needs root and the program ip (iproute2), to create hosts as network namespaces. "
            "Run it as root on Linux."
        )
    sizes = list(range(1, options.hosts + 1))
    print("# One, two and three hosts\n")
    print("Created by `python -m benchmarks.hosts`. Each host is a network namespace with")
    print(
        f"{options.share:g} of a core and {options.rate}/s that runs one Dask worker. The client is"
    )
    print(
        f"on the first host, outside its share. Times are medians of {options.repeats} alternating"
    )
    print(
        "rounds, after one round to warm up. Speed-up is the time of one host divided by the time"
    )
    print(
        "of several. The model counts compared pairs of members and ignores messages.", flush=True
    )
    with hosts(options.hosts, options.share, options.rate) as names, clusters(names, sizes) as at:
        command = ["ip", "netns", "exec", names[0], sys.executable, "-m", "benchmarks.hosts"]
        command += ["--repeats", str(options.repeats), "--schedulers", *at.values()]
        subprocess.run([*command, *(["--quick"] if options.quick else [])], check=True)


if __name__ == "__main__":
    main()

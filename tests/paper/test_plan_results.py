"""The results store: whole rows stay, torn and damaged ones are passed over."""

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from hashlib import sha256

import pytest

from secateurs.benchmarking import result_store as store
from secateurs.benchmarking.result_store import RESULTS, append_result
from secateurs.paper import load_results
from secateurs.paper._plan import Cell
from secateurs.paper._plan_results import SCHEMA, paper_results_frame


def cell(method, fold=0):
    return Cell("prune", "iris", "multiclass", "dt", 10, 3, 0.5, method, "library", fold, 0)


MEASURED = {
    **{"accuracy": 0.5, "validation_accuracy": 1, "objective": 0.25, "seconds": 0.1},
    **{"n_kept": 3, "members": [4, 0, 9], "n_train": 90, "n_validation": 30, "n_test": 30},
    **{"n_classes": 3, "source": "scikit-learn", "train_seconds": 0.5, "vote_seconds": 0.0},
}
OTHER_KINDS = {
    "combination": {"size": 2, "points": [[0.5, 1, 0.25], [0.5, 0.5, 0.5]]},
    "size": {"sizes": [1, 2], "accuracies": [0.5, 1.0]},
    "speedup": {
        **{"workers": 2, "n_groups": 2, "seconds_comep": [0.5], "seconds_domep": [0.5, 0.25]},
        **{"seconds_comep_cpu": [0.5], "seconds_path_cpu": [1]},
    },
    "scale": {"n": 100, "d": 1000, "seconds": 0.5},
}


def row(method, fold=0, **fields):
    return asdict(cell(method, fold)) | MEASURED | fields


def read_results(path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Damaged results|.*from an earlier version")
        return list(store.stored_results(path.parent, SCHEMA).values())


def signed(line):
    """Return a line with its checksum, as it is written: over the text of its other fields."""
    text = json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return json.dumps(line | {"checksum": sha256(text).hexdigest()[:16]}).encode() + b"\n"


def test_a_row_of_results_gives_its_cell_back(tmp_path):
    append_result(tmp_path / "bag.jsonl", row("re", accuracy=1.0))
    assert list(store.stored_results(tmp_path, SCHEMA)) == [cell("re")]


def test_rows_come_back_in_their_order(tmp_path):
    path = tmp_path / "bag.jsonl"
    rows = [row("re", accuracy=0.1 + 0.2, members=[1, 0]), row("λ", note="ein\nZeilenende")]
    for one in rows:
        append_result(path, one)
    assert read_results(path) == rows
    assert path.read_bytes().count(b"\n") == 2


def test_a_row_torn_at_any_byte_is_passed_over_and_hurts_no_other(tmp_path):
    path = tmp_path / "bag.jsonl"
    first, second, third = row("re", accuracy=0.25), row("kp", accuracy=0.5), row("oo")
    line = signed(second)
    for n_bytes in range(len(line) + 1):
        path.unlink(missing_ok=True)
        append_result(path, first)
        whole = path.read_bytes()
        path.write_bytes(whole + line[:n_bytes])
        is_whole = n_bytes >= len(line) - 1  # except its line end
        assert read_results(path) == [first, *[second] * is_whole]
        append_result(path, third)
        assert read_results(path) == [first, *[second] * is_whole, third]


def test_lines_that_are_no_rows_are_passed_over(tmp_path):
    path = tmp_path / "bag.jsonl"
    path.write_bytes(b'[1, 2]\n\n"text"\n{"kind": "prune"}\n\xff\xfe\n')
    append_result(path, row("re"))
    assert read_results(path) == [row("re")]


@pytest.mark.parametrize("kind", ["prune", *OTHER_KINDS])
def test_every_kind_of_row_is_read_whole_and_not_with_a_value_of_another_type(tmp_path, kind):
    path = tmp_path / "bag.jsonl"
    whole = row("re", kind=kind, path_seconds=0.5, **OTHER_KINDS.get(kind, {}))
    if kind != "prune":
        whole = {name: whole[name] for name in whole if name != "members"}
    append_result(path, whole)
    assert read_results(path) == [whole]
    needed = (set(whole) - set(MEASURED)) | set(OTHER_KINDS.get(kind, MEASURED))
    needed |= {"source", "n_train", "n_validation", "n_test", "n_classes", "train_seconds"}
    for name in sorted(needed):
        for other in (None, True, [], {}, [True], [[1, 2]], "", "text", "\ud800", 10**400):
            if type(other) is str and type(whole[name]) is str and other.isprintable():
                continue
            path.write_bytes(signed(whole | {name: other}))
            assert read_results(path) == [], (name, other)
        path.write_bytes(signed({one: whole[one] for one in whole if one != name}))
        assert len(read_results(path)) == (name == "path_seconds")  # which some rows lack


@pytest.mark.parametrize("text", ["NaN", "1e999", "[" * 100_000, "9" * 5000], ids=len)
def test_numbers_that_json_cannot_have_are_passed_over(tmp_path, text):
    path = tmp_path / "bag.jsonl"
    line = json.dumps(row("re", accuracy=0.125))
    path.write_text(line.replace("0.125", text) + "\n" + line + "\n")
    assert read_results(path) == [row("re", accuracy=0.125)]


def changed_digits(line):
    """Yield the line with each digit of its values replaced by another digit."""
    for place, byte in enumerate(line):
        if chr(byte).isdigit():
            yield line[:place] + str((byte - 48 + 1) % 10).encode() + line[place + 1 :]


def test_a_changed_digit_anywhere_is_detected_and_named(tmp_path):
    path = tmp_path / "bag.jsonl"
    first, second = row("re", accuracy=0.9375), row("kp")
    changed = list(changed_digits(signed(first)))
    assert len(changed) > 30
    for line in changed:
        path.write_bytes(line + signed(second))
        with pytest.warns(UserWarning, match=r"^Damaged results .*bag\.jsonl \(line 1\)\.$"):
            found = store.stored_results(tmp_path, SCHEMA)
        assert list(found.values()) == [second]


def test_a_damaged_row_is_left_out_of_the_file_when_the_run_goes_on(tmp_path):
    path = tmp_path / "bag.jsonl"
    for one in (row("re", accuracy=0.9375), row("kp")):
        append_result(path, one)
    path.write_bytes(path.read_bytes().replace(b"0.9375", b"0.1375"))
    with pytest.warns(UserWarning, match="Damaged results are skipped and measured again"):
        assert list(store.stored_results(tmp_path, SCHEMA, is_resumed=True)) == [cell("kp")]
    assert path.read_bytes() == signed(row("kp"))
    assert list(store.stored_results(tmp_path, SCHEMA, is_resumed=True)) == [cell("kp")]


@pytest.mark.parametrize("spelling", [b'"checksun"', None], ids=["misspelt", "lost"])
def test_a_row_whose_checksum_is_lost_is_damaged(tmp_path, spelling):
    path = tmp_path / "bag.jsonl"
    if spelling is None:
        path.write_bytes(signed(row("kp")) + json.dumps(row("re")).encode() + b"\n")
    else:
        path.write_bytes(signed(row("re")).replace(b'"checksum"', spelling))
    with pytest.warns(UserWarning, match="Damaged results"):
        found = store.stored_results(tmp_path, SCHEMA)
    assert list(found) == ([cell("kp")] if spelling is None else [])


def test_rows_of_an_earlier_version_are_read_with_one_note_and_get_checksums(tmp_path):
    path = tmp_path / "bag.jsonl"
    rows = [row("re"), row("kp", accuracy=1)]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), "utf-8")
    with pytest.warns(UserWarning, match="2 results in .* come from an earlier version"):
        found = store.stored_results(tmp_path, SCHEMA, is_resumed=True)
    assert list(found.values()) == rows
    assert path.read_bytes() == b"".join(map(signed, rows))
    assert list(store.stored_results(tmp_path, SCHEMA, is_resumed=True).values()) == rows


def test_numbers_that_are_none_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        append_result(tmp_path / "bag.jsonl", row("re", accuracy=float("nan")))
    assert not (tmp_path / "bag.jsonl").exists()


def test_of_two_rows_of_a_cell_the_later_one_counts(tmp_path):
    for accuracy in (0.1, 0.2):
        append_result(tmp_path / "bag.jsonl", row("re", accuracy=accuracy))
    assert [found["accuracy"] for found in store.stored_results(tmp_path, SCHEMA).values()] == [0.2]


def test_the_order_in_which_rows_were_written_does_not_matter(tmp_path):
    rows = [row(method, fold, accuracy=fold / 10) for method in ("re", "comep") for fold in (1, 0)]
    frames = []
    for name, order in (("a", rows), ("b", rows[::-1])):
        folder = tmp_path / name / RESULTS
        folder.mkdir(parents=True)
        for place, one in enumerate(order):
            append_result(folder / f"{name}{place % 3}.jsonl", one)
        frames.append(load_results(tmp_path / name))
    assert frames[0].equals(frames[1])
    assert frames[0]["method"].tolist() == ["comep", "comep", "re", "re"]
    assert frames[0]["fold"].tolist() == [0, 1, 0, 1]


def test_an_empty_frame_has_the_usual_columns(tmp_path):
    frame = load_results(tmp_path)
    assert len(frame) == 0
    assert {"dataset", "method", "accuracy", "members", "seconds"} <= set(frame.columns)


def test_further_fields_follow_the_usual_columns():
    frame = paper_results_frame([row("re", zebra=1, ant=2)])
    assert list(frame.columns[-2:]) == ["ant", "zebra"]


def test_rows_of_many_writers_do_not_mix(tmp_path):
    path = tmp_path / "bag.jsonl"

    def write(writer):
        for fold in range(50):
            append_result(path, row(f"m{writer}", fold, members=list(range(200))))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    rows = read_results(path)
    assert {(one["method"], one["fold"]) for one in rows} == {
        (f"m{writer}", fold) for writer in range(4) for fold in range(50)
    }
    assert len(rows) == len([line for line in path.read_bytes().split(b"\n") if line]) == 200

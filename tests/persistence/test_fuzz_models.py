"""Model files with one thing changed, by seeds: `fuzz_models` says how, and tries many more."""

import fuzz_models


def test_no_file_crashes_hangs_or_takes_all_memory(tmp_path):
    fates, wrong = fuzz_models.run(range(60), tmp_path)
    assert wrong == []
    assert fates["worked"] > 8
    assert fates["refused"] > 8
    assert sum(fates.values()) == 60

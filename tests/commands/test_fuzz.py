"""Commands and files spoilt at random, by seeds: `fuzz` says how, and runs many more."""

import fuzz
import pytest

N_CASES, N_BLOCKS = 600, 6


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    fuzz.prepare(folder)
    return folder


@pytest.mark.parametrize("block", range(N_BLOCKS))
def test_nothing_spoilt_leads_to_a_traceback_or_half_a_file(whole_files, tmp_path, block):
    seeds = range(block, N_CASES, N_BLOCKS)
    found = [fuzz.try_one(seed, whole_files, tmp_path / str(seed)) for seed in seeds]
    assert [fault for fault in found if fault] == []

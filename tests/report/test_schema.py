"""Arrays packed as text are unpacked to the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from report_pages import unpack

from secateurs.exceptions import InputError
from secateurs.report._schema import pack_array


@given(
    hnp.arrays(np.int64, hnp.array_shapes(max_dims=2, max_side=70), elements=st.integers(0, 400)),
    st.sampled_from([1, 2, 3, 4, 5, 16, 17, 256, 257, 500]),
)
def test_codes_come_back_as_they_went(values, n_codes):
    codes = values % n_codes
    packed = pack_array(codes, n_codes)
    assert (unpack(packed) == codes).all()
    assert packed["bits"] == next(b for b in (1, 2, 4, 8, 16) if n_codes <= 2**b)


def test_floats_come_back_to_the_last_bit_and_large_ones_deflated():
    values = np.random.default_rng(0).random(100)
    assert (unpack(pack_array(values)) == values).all()
    zeros = np.zeros((100, 9000), dtype=int)
    packed = pack_array(zeros, 3)
    assert packed["deflated"]
    assert len(packed["base64"]) < 1000
    assert (unpack(packed) == zeros).all()


@pytest.mark.parametrize(
    "damage",
    [
        {"base64": "?"},
        {"base64": "AAAA"},
        {"bits": 3},
        {"shape": [10**9, 10**9]},
        {"shape": [-1]},
        {"deflated": True},
    ],
)
def test_damaged_packs_are_refused(damage):
    packed = pack_array(np.arange(40) % 3, 3) | damage
    with pytest.raises(InputError, match="Packed numbers"):
        unpack(packed)


def test_a_bomb_does_not_go_off():
    packed = pack_array(np.zeros((1000, 1000), dtype=int), 3)
    with pytest.raises(InputError, match="bytes where 2 belong"):
        unpack(packed | {"shape": [5]})

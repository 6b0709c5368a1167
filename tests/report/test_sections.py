"""Numbers that only sections of the page need."""

import numpy as np
import pytest

from secateurs import Votes
from secateurs.report._data import HEADER, SHAPES
from secateurs.report._templates import environment, resource
from secateurs.report.sections import SECTIONS, sections_for
from secateurs.report.sections._confusion import confusion, matrices
from secateurs.report.sections._losses import count, share_of_right
from secateurs.report.sections._what_if import sample_rows


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_has_its_template_and_its_drawing(section):
    environment().get_template(f"{section.stem}.html")
    if section.is_drawn:
        assert resource(f"sections/{section.stem}.js").startswith('"use strict";')


def test_every_field_of_the_data_belongs_to_one_section():
    fields = [name for section in SECTIONS for name in section.shape]
    assert len(fields) == len(set(fields))
    for kind, shape in SHAPES.items():
        own = [name for section in sections_for(kind) for name in section.shape]
        assert sorted(shape) == sorted([*HEADER, *own])


def test_confusion_and_losses_by_hand():
    truth = np.array([0, 0, 1, 1, 2])
    before, after = np.array([0, 1, 1, 1, 0]), np.array([1, 0, 1, 1, 2])
    assert confusion(truth, before, 3).tolist() == [[1, 1, 0], [0, 2, 0], [1, 0, 0]]
    counts = count(truth, 3, before == truth, after == truth)
    assert counts == {"rows": [2, 2, 1], "lost": [1, 0, 0], "won": [1, 0, 1]}


def test_rows_are_told_by_the_share_of_members_that_are_right():
    right_of_ten = [0, 4, 5, 6, 9, 10]
    votes = [[1] * n + [0] * (10 - n) for n in right_of_ten]
    assert share_of_right(Votes.encode(votes, [1] * 6)).tolist() == [0, 0, 1, 2, 5, 5]


def test_only_some_classes_are_shown_where_there_are_many():
    truth = np.arange(200) % 20
    after = np.where(truth == 17, 3, truth)
    facts = matrices(truth, truth, after, 20)
    assert len(facts["classes"]) == 15
    assert set(facts["classes"][:2]) == {17, 3}


def test_a_sample_of_rows_keeps_the_classes_in_proportion():
    truth = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 300, 100]))
    rows = sample_rows(truth, 100)
    assert len(set(rows.tolist())) == 100
    assert np.abs(np.bincount(truth[rows]) - [60, 30, 10]).max() <= 1
    assert sorted(sample_rows(truth, 1000)) == list(range(1000))

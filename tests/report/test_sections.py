"""Templates, scripts and data of the sections of the page."""

import numpy as np
import pytest

from secateurs import Votes
from secateurs.report._report_data import HEADER, SHAPES
from secateurs.report.html_templates import read_resource, template_environment
from secateurs.report.sections import SECTIONS, sections_for
from secateurs.report.sections._confusion import confusion_counts, confusion_matrices
from secateurs.report.sections._losses import count_by_group, right_share_bins
from secateurs.report.sections._what_if import sample_by_class


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_has_its_template_and_its_drawing(section):
    template_environment().get_template(f"{section.file_stem}.html")
    if section.is_drawn:
        assert read_resource(f"sections/{section.file_stem}.js").startswith('"use strict";')


def test_every_field_of_the_data_belongs_to_one_section():
    fields = [name for section in SECTIONS for name in section.shape]
    assert len(fields) == len(set(fields))
    for kind, shape in SHAPES.items():
        own = [name for section in sections_for(kind) for name in section.shape]
        assert sorted(shape) == sorted([*HEADER, *own])


def test_confusion_and_losses_by_hand():
    truth = np.array([0, 0, 1, 1, 2])
    before, after = np.array([0, 1, 1, 1, 0]), np.array([1, 0, 1, 1, 2])
    assert confusion_counts(truth, before, 3).tolist() == [[1, 1, 0], [0, 2, 0], [1, 0, 0]]
    counts = count_by_group(truth, 3, before == truth, after == truth)
    assert counts == {"rows": [2, 2, 1], "lost": [1, 0, 0], "won": [1, 0, 1]}


def test_rows_are_told_by_the_share_of_members_that_are_right():
    right_of_ten = [0, 4, 5, 6, 9, 10]
    votes = [[1] * n + [0] * (10 - n) for n in right_of_ten]
    assert right_share_bins(Votes.encode(votes, [1] * 6)).tolist() == [0, 0, 1, 2, 5, 5]


def test_only_some_classes_are_shown_where_there_are_many():
    truth = np.arange(200) % 20
    after = np.where(truth == 17, 3, truth)
    facts = confusion_matrices(truth, truth, after, 20)
    assert len(facts["classes"]) == 15
    assert set(facts["classes"][:2]) == {17, 3}


def test_a_sample_of_rows_keeps_the_classes_in_proportion():
    truth = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 300, 100]))
    rows = sample_by_class(truth, 100)
    assert len(set(rows.tolist())) == 100
    assert np.abs(np.bincount(truth[rows]) - [60, 30, 10]).max() <= 1
    assert sorted(sample_by_class(truth, 1000)) == list(range(1000))

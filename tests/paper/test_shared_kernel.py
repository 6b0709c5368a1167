"""Bagged SVMs over one kernel matrix give the labels of scikit-learn's own."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.svm import SVC

from secateurs.paper._shared_kernel import SharedKernelSVMs


@pytest.mark.parametrize("scale", [0.3, 3.0, 100.0, 10_000.0])
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_those_of_scikit_learn(scale, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] + rng.normal(size=90) > 0.6, "yes", "no")
    X[:60] = np.round(scale * X[:60])  # some rows twice; the larger the scale, the more are alone
    new = np.concatenate([X, scale * rng.normal(size=(40, 2))])
    model = BaggingClassifier(SVC(gamma="auto"), n_estimators=8, random_state=seed).fit(X, y)
    expected = np.array([member.predict(new) for member in model.estimators_]).astype(int)
    svms = SharedKernelSVMs().fit(X, y, model.estimators_samples_)
    votes = svms.predict_votes(new, np.resize(y, len(new)))
    assert votes.classes[votes.codes(range(8))].tolist() == model.classes_[expected].tolist()
    assert len(np.unique(expected)) == 2

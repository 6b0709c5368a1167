"""Refitting: fit the leaves of the kept trees so that they imitate the corrected full ensemble.

====================  ==============================================================================
`refit`               the parameters, `LeafRefit`, and the refitted ensemble with its estimated gain
`branches`            prune branches against the same objective, to meet a number of nodes
`teacher`             the full ensemble, corrected by labels, which the kept trees imitate
`_correction`         correct leaf values by honest residuals, with a leave-one-out stop
`_imitation`          real and synthetic samples with targets and weights
`_leaf_fit`           fit leaf values so that the average of the trees is close to a target
`_synthetic_samples`  generate samples from given samples, for the full ensemble to predict
`value_limits`        the values that nodes may have: distributions, monotonic constraints
`refit_kernels`       compiled loops over samples and nodes
====================  ==============================================================================
"""

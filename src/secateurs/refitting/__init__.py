"""Refitting: fit the leaves of the kept trees so that they imitate the full ensemble.

====================  ==============================================================================
`refit`               a copy of the ensemble in which the leaves of some trees are refitted
`_leaf_fit`           fit leaf values so that the average of the trees is close to a target
`_synthetic_samples`  generate samples from given samples, for the full ensemble to predict
====================  ==============================================================================
"""

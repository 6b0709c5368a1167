"""Predictions of ensemble members: collected, encoded, packed, counted and stored.

=====================  ===========================================================================
`collect`              `secateurs.collect_votes` and `secateurs.collect_predictions`
`_member_querier`      predictions of single members; `tree_walk` evaluates decision trees
`_collect_store`       predictions collected into a store, tile by tile; a hash of the ensemble and
                       the samples shows if the store belongs to them
`prediction_table`     an ensemble known only by its predictions; `prediction_arrays` reads them
`votes`                `secateurs.Votes`: votes in memory, and counts of them
`predictions`          `secateurs.Predictions`: probabilities or regression values in memory;
                       `_prediction_cells` fills them in, `fixed_point` rounds them
`vote_store`           `secateurs.VoteStore`: votes in a folder; `_label_columns` reads its input
`prediction_store`     `secateurs.PredictionStore`: probabilities or values in a folder
`store_base`           the base class of both stores; `_store_tiles` and `_store_files` write them
`input_checks`         checks of votes, true labels and targets
`label_coding`         labels as integer codes
`vote_packing`         codes as bit planes, or as small integers if there are many classes
`bit_kernels`          compiled loops over labels and bit planes
`vote_kernels`         compiled loops that walk trees and count votes
`prediction_kernels`   compiled loops over the errors of pairs of members
`selection_kernels`    compiled loops that score an ensemble with each further member
`compiling`            how these kernels are compiled and cached
`stratified_folds`     cross-validation folds of votes
`training_samples`     whether given samples are the training samples
=====================  ===========================================================================

This package imports nothing; the public names are those of `secateurs` itself.
"""

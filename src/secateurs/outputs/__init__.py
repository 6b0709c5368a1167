"""What members predict: votes and scores, collected, coded, packed, counted and stored.

===================  =============================================================================
`_collect`           `secateurs.collect_votes`, `secateurs.collect_predictions`: ask the members of a
                     fitted ensemble; `_trees` asks decision trees
`_questions`         what a fitted ensemble is asked, and on which rows its members were trained
`_collect_store`     the same into a store
`_predictions`       an ensemble of which only predictions are known
`_votes`             `secateurs.Votes`: votes in memory, and what is counted of them
`_scores`            `secateurs.Predictions`: probabilities or numbers; `_score_cells` fills them in,
                     `_fixed_point` rounds them
`_store`             `secateurs.VoteStore`: votes in a folder
`_score_store`       `secateurs.PredictionStore`: scores in a folder; `_store_base`, `_store_tiles` and
                     `_store_files` are what both have in common
`_columns`           tables of labels that are read some columns at a time
`_checks` `_coding`  checks of votes and true labels; labels as codes
`_packing`           codes as bit planes, or as bytes if there are many classes
`_pair_kernels`      compiled loops over pairs of members
`_vote_kernels`      compiled loops over votes and their tallies
`_score_kernels`     compiled loops over pairs of members' scores
`_tree_kernels`      the compiled loop over a decision tree
`_folds`             rows to choose on, and rows held out
`_fingerprint`       a hash of the ensemble and the rows that votes are of
===================  =============================================================================

Nothing is imported here: the public names are those of `secateurs` itself.
"""

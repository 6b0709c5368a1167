"""Refitting: the kept trees imitate the whole ensemble.

=============  ====================================================================================
`_leaves`      values in the leaves of trees, fitted so that their average is near a target
`_made_rows`   rows made from given ones, for the whole ensemble to answer
`_refit`       a sub-ensemble whose trees have other values in their leaves
=============  ====================================================================================
"""

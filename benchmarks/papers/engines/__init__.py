"""Fast implementations of learners over whole data streams; tests check that they equal the learners.

`sleeping` has arms and experts that are not available in every round.
"""

"""Arms of the experiment of Garivier and Moulines (2011)."""

REWARDS = ((0.5, 0.3, 0.4), (0.5, 0.3, 0.9), (0.5, 0.3, 0.4))  # mean rewards of the arms in the three segments
BEST = 0, 2, 0  # best arm of each segment

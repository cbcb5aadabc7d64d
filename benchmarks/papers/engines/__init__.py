"""Fast implementations of learners over whole data streams; tests check that they equal the learners."""

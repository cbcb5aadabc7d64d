"""Fast implementations of single learners over whole streams, equal to the learners by test."""

//! F. Work queue and workers: dedup, delay, rate limits, priority, workers, metrics.

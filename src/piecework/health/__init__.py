"""Whether a vocabulary is healthy: findings that pass, warn or fail, each with what to do."""

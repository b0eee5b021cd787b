"""Documents to training shards: token ids in the formats of training frameworks."""

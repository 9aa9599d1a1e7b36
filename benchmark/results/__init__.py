"""What is stored: one Parquet file a run, one ledger a study."""

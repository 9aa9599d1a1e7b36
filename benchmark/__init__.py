"""The harness: how every method is planned, trained and judged, the same way."""

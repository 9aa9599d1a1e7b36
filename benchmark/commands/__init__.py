"""The commands of `python -m benchmark`, one module each."""

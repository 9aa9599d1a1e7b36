"""From a study to the specs of its runs: without torch, without data, in a moment."""

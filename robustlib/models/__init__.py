"""Models: adapters that turn prompts into answers, loaded by name."""

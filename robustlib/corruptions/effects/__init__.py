"""The corruptions themselves: one function each, grouped by physical cause, registered by `registry.effect`."""

"""Settings of the whole suite."""

from hypothesis import settings

# A busy machine is slow, not wrong: no test of ours fails because of the clock.
settings.register_profile("robustlib", deadline=None)
settings.load_profile("robustlib")

"""`st.from_type(Layout)` draws random layouts in this folder's tests."""

from hypothesis import settings

import support.layouts  # noqa: F401

# Another process on the machine must not fail a law.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

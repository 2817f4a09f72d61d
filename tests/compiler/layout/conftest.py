"""`st.from_type(Layout)` draws random layouts in this folder's tests."""

import support.layouts  # noqa: F401

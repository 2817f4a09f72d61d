"""`st.from_type(Layout)` draws random layouts in this folder's tests."""

import support.generated.layouts  # noqa: F401

"""Version of the user's code, which is a part of the keys of jax's caches.

JAX reuses the trace of a function although globals that the function reads have changed. This holds for functions
inside of others too (`jax.jit`, `jax.checkpoint`, the body of a `scan`). In the context `user_code(version)` JAX uses
only traces that were made with the same version. `user_code.value` is the version in this thread.
"""

import jax

user_code = jax.make_user_context("")

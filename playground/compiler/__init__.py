"""The context compiler: budget, selection, rendering, manifest, and the compiler that works over many steps."""

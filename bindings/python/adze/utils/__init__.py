"""What belongs to no other module."""
from . import data  # noqa: F401

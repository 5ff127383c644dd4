"""What aggregate functions keep of a group, and how changes are brought into it."""

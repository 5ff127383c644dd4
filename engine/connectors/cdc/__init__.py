"""What reading change data of databases has in common: chunks of a snapshot, and how changes follow it."""

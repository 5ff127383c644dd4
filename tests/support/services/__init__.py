"""Real services for tests, each started by the script in examples/services that people start it with, too."""

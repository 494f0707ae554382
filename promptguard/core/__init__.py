"""What everything else stands on: sources, places and errors. Standard library only."""

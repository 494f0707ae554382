"""Detectors: what finds the defects that the rules describe, a module for each area."""

"""The prompt as an engine sees it: requests, blocks, rendering, and where two of them first differ."""

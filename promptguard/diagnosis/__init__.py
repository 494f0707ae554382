"""What stands in the way of reuse on a running server: it is read, and where that does not tell, tried."""

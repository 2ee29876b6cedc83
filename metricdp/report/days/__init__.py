"""The page of a stream: how its centers moved, a slider over its days."""

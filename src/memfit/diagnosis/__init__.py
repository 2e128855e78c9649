"""Why did it fail? From an exception or a log to the allocation, the cause and the fix."""

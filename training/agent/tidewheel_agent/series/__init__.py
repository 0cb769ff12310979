"""Every value that a script prints or logs, as points of series that outlive the attempt."""

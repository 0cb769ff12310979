"""The script as a process: started, signalled, watched, ended."""

"""One run in each experiment tracker, however many attempts it takes."""

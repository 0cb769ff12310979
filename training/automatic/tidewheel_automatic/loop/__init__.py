"""The loop that the script trains in: where its state can be saved, and its gradients."""

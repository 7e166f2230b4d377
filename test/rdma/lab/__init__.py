"""What the scenarios are made of; runs in the emulated machine (test/rdma-vm), as root."""

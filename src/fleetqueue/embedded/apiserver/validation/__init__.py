"""What an object must look like before it is stored."""
